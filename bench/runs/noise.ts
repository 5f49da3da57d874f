import { setMaxListeners } from "node:events";
import { call } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { connectBus } from "@switchyard/bus/connect";
import { readEvents } from "@switchyard/bus/events";
import { callTool } from "@switchyard/contracts/mcp-broker/mcp";
import { anonymousUser } from "@switchyard/topology/topology";
import { followRuns } from "./run-follower.ts";

// A team at its limits, as a process of its own, so that its own work delays no measurement. Its parent sends "start" and "stop";
// it replies "loud" and "quiet" when that is the state.

/** The team's constant load. */
const NOISE = { agent: "three-calls", runs: 1_000, calls: 32, followers: 8 } as const;
/** The team counts as loud when so many of its runs have ended. */
const LOUD = 50;

interface Noise {
  /** Waits until the started operations have ended. */
  readonly stop: () => Promise<void>;
}

function makeNoise(bus: Bus, onLoud: () => void): Noise {
  const ended = new AbortController();
  const { signal } = ended;
  setMaxListeners(0, signal);
  const runs = followRuns(bus);
  let done = 0;
  const startRun = async (): Promise<void> => {
    await runs.run(NOISE.agent);
    if ((done += 1) === LOUD) onLoud();
  };
  const callEcho = (): Promise<unknown> =>
    call(
      bus,
      callTool,
      { tool: "echo", args: { message: "x" } },
      { tokens: { server: "echo" }, timeoutMs: 60_000 },
    ).catch(() => null); // its own limits may refuse it
  const loop = async (work: () => Promise<unknown>): Promise<void> => {
    while (!signal.aborted) await work();
  };
  const follow = async (): Promise<void> => {
    const filters = [`yard.evt.run.${bus.user}.>`];
    for await (const _ of readEvents(bus, { filters, from: "now", signal })) continue;
  };
  const noise = [
    ...Array.from({ length: NOISE.runs }, () => loop(startRun)),
    ...Array.from({ length: NOISE.calls }, () => loop(callEcho)),
    ...Array.from({ length: NOISE.followers }, follow),
  ];
  return {
    async stop() {
      ended.abort();
      await Promise.all(noise);
      await runs.stop();
    },
  };
}

const bus = await connectBus({
  servers: process.env["YARD_NATS_URL"] ?? "",
  user: anonymousUser.name,
  inboxPrefix: anonymousUser.inboxPrefix,
});
let noise: Noise | null = null;
process.on("message", (word) => {
  if (word === "start") noise = makeNoise(bus, () => process.send?.("loud"));
  if (word === "stop") void noise?.stop().then(() => process.send?.("quiet"));
});
process.on("disconnect", () => process.exit());
process.once("SIGTERM", () => process.exit());
process.send?.("ready");

import { setMaxListeners } from "node:events";
import { call } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/connect";
import { readEvents } from "@switchyard/bus/events";
import { callTool } from "@switchyard/contracts/mcp";
import { connectAsCli } from "../../test/lib/yard-dev.ts";
import type { Bench } from "../lib/bench.ts";
import { compared, type Report } from "../lib/figure.ts";
import { loadOf, warmUp, type Load } from "../lib/measure.ts";
import { startSwitchyard } from "../lib/switchyard.ts";
import { followRuns } from "./run-follower.ts";

const AGENT = "three-calls";
/** What the noisy team has under way all the time. */
const NOISE = { runs: 1_000, calls: 32, followers: 8 } as const;
/** The runner's slots: few for two processors, so that turns are measured and not processor time alone. */
const SLOTS = 8;
/** So many of the noisy team's runs have ended when the measuring begins. */
const LOUD = 50;
/** Of a round, measured one after the other: one for each so many milliseconds of the window, but not fewer than that. */
const RUN_MS = 100;
const MIN_RUNS = 5;
const GOAL = { text: "≤ 1.5×", holds: (ratio: number) => ratio <= 1.5 };

/**
 * A team's run, one at a time, alone and beside a team that keeps 1,000 runs queued and in work, 32 tool calls in flight
 * and 8 readers of its events.
 */
export async function benchNeighbour({
  stage,
  warmUpMs,
  windowMs,
  rounds,
}: Bench): Promise<Report> {
  const env = { YARD_RUNNER_SLOTS: String(SLOTS) };
  const { bus: noisy, instance } = await startSwitchyard(stage, { runners: 1, env });
  const quiet = await connectAsCli(instance);
  stage.onEnd(() => quiet.close());
  const runs = followRuns(quiet);
  stage.onEnd(runs.stop);
  let count = 0;
  const operation = (): Promise<void> => runs.run(AGENT, { runId: `quiet-${(count += 1)}` });
  const latencies = async (): Promise<number[]> => {
    const found: number[] = [];
    while (found.length < runsPerRound) {
      const started = performance.now();
      await operation();
      found.push((performance.now() - started) * 1_000);
    }
    return found;
  };
  const runsPerRound = Math.max(MIN_RUNS, windowMs / RUN_MS);
  await warmUp({ operation }, warmUpMs);
  const alone: number[] = [];
  const beside: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    alone.push(...(await latencies()));
    const noise = makeNoise(noisy, round);
    await noise.isLoud;
    beside.push(...(await latencies()));
    await noise.stop();
  }
  const loads = [alone, beside].map((found) => loadOf(found, windowMs));
  const [one, other] = loads as [Load, Load]; // one of each
  return {
    name: "neighbour",
    figures: [
      compared(
        { name: "p50 of a run", unit: "ms", value: other.p50Us / 1e3, baseline: one.p50Us / 1e3 },
        GOAL,
      ),
      compared({
        name: "p99 of a run",
        unit: "ms",
        value: other.p99Us / 1e3,
        baseline: one.p99Us / 1e3,
      }),
      { name: "runs measured beside it", unit: "runs", value: beside.length },
    ],
  };
}

interface Noise {
  /** Resolves when it has gone on for a while. */
  readonly isLoud: Promise<void>;
  /** Waits until what was begun has ended. */
  readonly stop: () => Promise<void>;
}

function makeNoise(bus: Bus, round: number): Noise {
  const ended = new AbortController();
  const { signal } = ended;
  setMaxListeners(0, signal);
  const runs = followRuns(bus);
  const loud = Promise.withResolvers<void>();
  let begun = 0;
  let done = 0;
  const startRun = async (): Promise<void> => {
    await runs.run(AGENT, { runId: `noisy-${round}-${(begun += 1)}` });
    if ((done += 1) === LOUD) loud.resolve();
  };
  const callEcho = (): Promise<unknown> =>
    call(
      bus,
      callTool,
      { tool: "echo", args: { text: "x" } },
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
  const stop = async (): Promise<void> => {
    ended.abort();
    await Promise.all(noise);
    await runs.stop();
  };
  return { isLoud: loud.promise, stop };
}

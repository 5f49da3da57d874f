// Starts runs as one team's NATS user, waits until each has ended in the stream of events, and prints what it counted. It runs in a pod,
// in the image of the services, from a ConfigMap.
import { readFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { connectBus } from "@switchyard/bus/connect";
import { readEvents } from "@switchyard/bus/events";
import { publishCommand } from "@switchyard/bus/publish";
import { tokensOf } from "@switchyard/contracts/define";
import {
  runCancelled,
  runDead,
  runFailed,
  runFinished,
  runRejected,
  toolFailed,
} from "@switchyard/contracts/agent-runner/run-events";
import { startRun } from "@switchyard/contracts/agent-runner/runs";

const env = (name: string): string => process.env[name] ?? "";
const prefix = env("LOAD_PREFIX");
const runs = Number(env("LOAD_RUNS"));
const takesMs = Number(env("LOAD_TAKES_MS"));
const perSecond = Number(env("LOAD_PER_SECOND"));
const deadline = Date.now() + Number(env("LOAD_SECONDS")) * 1_000;
const user = env("YARD_USER");

const bus = await connectBus({
  servers: env("YARD_NATS_URL"),
  user,
  nkeySeed: async () => (await readFile(env("YARD_NATS_NKEY_FILE"), "utf8")).trim(),
  connectTimeoutMs: 60_000,
});
const ended = new Map<string, string[]>();
let failedCalls = 0;
/** Counts the reasons of failed calls; numbers and ids in them are left out. */
const reasons: Record<string, number> = {};
const over = new AbortController();
const ends: ReadonlySet<string> = new Set(
  [runFinished, runFailed, runCancelled, runDead, runRejected].map(({ name }) => name),
);
const reading = (async () => {
  // A team may read by one filter at a time, within its own events.
  const filters = [`yard.evt.run.${user}.>`];
  for await (const event of readEvents(bus, { filters, from: "beginning", signal: over.signal })) {
    if (event.contract === null) continue;
    const tokens: Record<string, string> = tokensOf<string>(event.contract, event.subject) ?? {};
    const { runId = "" } = tokens;
    if (!runId.startsWith(`${prefix}-`)) continue;
    if (event.contract.name === toolFailed.name) {
      failedCalls += 1;
      const failure = toolFailed.payload.safeParse(event.payload);
      const text = failure.success ? `${failure.data.code}: ${failure.data.message}` : "unreadable";
      const reason = text.replaceAll(/callId \S+|\d+/g, "…");
      reasons[reason] = (reasons[reason] ?? 0) + 1;
    }
    if (ends.has(event.contract.name))
      ended.set(runId, [...(ended.get(runId) ?? []), event.contract.name]);
  }
})();

const ids = Array.from({ length: runs }, (_, index) => `${prefix}-${index}`);
for (const runId of ids) {
  // A command that NATS has not acknowledged is published again with the same run id, which starts one run.
  for (;;) {
    try {
      await publishCommand(
        bus,
        startRun,
        { agent: "marker" },
        { input: { run: runId, takesMs }, runId },
      );
      break;
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await delay(500);
    }
  }
  await delay(1_000 / perSecond);
}
console.log(JSON.stringify({ published: ids.length }));
while (ended.size < ids.length && Date.now() < deadline) await delay(250);
await delay(2_000); // an end that comes twice arrives meanwhile
over.abort();
await reading;
const marks = (await (await fetch(env("LOAD_MARKS"))).json()) as Record<string, number>; // marks.ts
const ours = Object.entries(marks).filter(([key]) => key.startsWith(`${prefix}-`));
const counts: Record<string, number> = {};
for (const name of [...ended.values()].flat()) counts[name] = (counts[name] ?? 0) + 1;
const result = {
  runs,
  ends: counts,
  lost: ids.filter((id) => !ended.has(id)),
  endedTwice: [...ended].filter(([, names]) => names.length > 1).map(([id]) => id),
  calls: ours.length,
  failedCalls,
  reasons,
  doubled: ours.filter(([, count]) => count > 1).map(([key, count]) => `${key} ×${count}`),
};
console.log(JSON.stringify(result));
await bus.close();

import { setMaxListeners } from "node:events";
import { readEvents } from "@switchyard/bus/events";
import { publishCommand } from "@switchyard/bus/publish";
import { filterOf } from "@switchyard/contracts/define";
import { runFailed, runFinished, runRejected } from "@switchyard/contracts/run-events";
import { startRun } from "@switchyard/contracts/runs";
import type { Bus } from "@switchyard/bus/connect";
import type { Figure, Report } from "../lib/figure.ts";
import { measureLoad } from "../lib/measure.ts";
import { startSwitchyard } from "../lib/switchyard.ts";
import type { Bench } from "../lib/bench.ts";

/** Model calls and tool calls of one run of the agent `three-calls`: each is a journaled step. */
const JOURNALED_STEPS = 7;

/**
 * Whole runs through the queue: command, four scripted model calls, three brokered and
 * policy-checked tool calls, every event, with `appendfsync always` and `sync_interval: always`.
 */
export async function benchRuns({ stage, windowMs }: Bench): Promise<Report> {
  const { bus } = await startSwitchyard(stage, { runners: 1 });
  const { runOnce, stop } = followRuns(bus);
  stage.onEnd(stop);
  const figures: Figure[] = [];
  for (const inFlight of [1, 64]) {
    const load = await measureLoad({ operation: runOnce, inFlight, durationMs: windowMs * 2 });
    figures.push(
      {
        name: `runs of three tool calls, ${inFlight} in flight`,
        value: load.perSecond,
        unit: "runs/s",
      },
      {
        name: `journaled steps, ${inFlight} in flight`,
        value: load.perSecond * JOURNALED_STEPS,
        unit: "steps/s",
      },
      { name: `run p50, ${inFlight} in flight`, value: load.p50Us / 1000, unit: "ms" },
      { name: `run p99, ${inFlight} in flight`, value: load.p99Us / 1000, unit: "ms" },
    );
  }
  return { name: "runs", figures };
}

/** Starts runs and resolves each when its terminal event is in the stream. */
function followRuns(bus: Bus): { runOnce: () => Promise<void>; stop: () => Promise<void> } {
  const waiting = new Map<string, { resolve: () => void; reject: (error: Error) => void }>();
  const ended = new AbortController();
  setMaxListeners(0, ended.signal);
  const following = (async () => {
    const filters = [runFinished, runFailed, runRejected].map((contract) => filterOf(contract));
    for await (const event of readEvents(bus, { filters, from: "now", signal: ended.signal })) {
      const runId = event.subject.split(".")[3] ?? "";
      const run = waiting.get(runId);
      waiting.delete(runId);
      if (event.contract?.name === runFinished.name) run?.resolve();
      else run?.reject(new Error(`${event.subject}: ${JSON.stringify(event.payload)}`));
    }
  })();
  let count = 0;
  return {
    async runOnce() {
      count += 1;
      const runId = `bench-${process.pid}-${count}`;
      const done = new Promise<void>((resolve, reject) => waiting.set(runId, { resolve, reject }));
      await publishCommand(bus, startRun, { agent: "three-calls" }, { input: "go", runId });
      await done;
    },
    async stop() {
      ended.abort();
      await following;
    },
  };
}

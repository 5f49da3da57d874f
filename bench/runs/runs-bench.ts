import type { Figure, Report } from "../lib/figure.ts";
import { measureLoad } from "../lib/measure.ts";
import { startSwitchyard } from "../lib/switchyard.ts";
import type { Bench } from "../lib/bench.ts";
import { followRuns } from "./run-follower.ts";

/** Model calls and tool calls of one run of the agent `three-calls`: each is a journaled step. */
const JOURNALED_STEPS = 7;

/**
 * Whole runs through the queue: command, four scripted model calls, three brokered and
 * policy-checked tool calls, every event, with `appendfsync always` and `sync_interval: always`.
 */
export async function benchRuns({ stage, windowMs }: Bench): Promise<Report> {
  const { bus } = await startSwitchyard(stage, { runners: 1 });
  const { run, stop } = followRuns(bus);
  const runOnce = (): Promise<void> => run("three-calls");
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

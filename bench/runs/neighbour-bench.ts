import { spawn } from "node:child_process";
import { once } from "node:events";
import { availableParallelism } from "node:os";
import { readEvents } from "@switchyard/bus/events";
import { connectAsCli, type DevInstance } from "../../test/lib/yard-dev.ts";
import type { Bench } from "../lib/bench.ts";
import { compared, type Figure, type Report } from "../lib/figure.ts";
import { loadOf, warmUp } from "../lib/measure.ts";
import { watchProcessors } from "../lib/processor-shares.ts";
import { processorTimes } from "../lib/processor-time.ts";
import type { Stage } from "../lib/stage.ts";
import { startSwitchyard } from "../lib/switchyard.ts";
import { followRuns } from "./run-follower.ts";

const AGENT = "three-calls";
/** The runner's slots: few for two processors, so that turns are measured and not processor time alone. */
const SLOTS = 8;
/** Runs of a round, measured sequentially: one for each so many milliseconds of the window, but not fewer than that. */
const RUN_MS = 100;
const MIN_RUNS = 5;
const GOAL = { text: "≤ 1.5×", holds: (ratio: number) => ratio <= 1.5 };

/** Measured latencies, in microseconds. */
interface Latencies {
  /** From the command to the last event. */
  readonly whole: number[];
  /** From the command to `run.started`. */
  readonly begun: number[];
}

/**
 * A team's run, one at a time, alone and beside a team that keeps 1,000 runs queued and in work, 32 tool calls in flight and 8
 * readers of its events (noise.ts). And beside as many processes as there are processors, which are not part of Switchyard and only
 * compute: the cost of a busy machine by itself.
 */
export async function benchNeighbour({
  stage,
  warmUpMs,
  windowMs,
  rounds,
}: Bench): Promise<Report> {
  const env = { YARD_RUNNER_SLOTS: String(SLOTS) };
  const { instance } = await startSwitchyard(stage, { runners: 1, env });
  const quiet = await quietTeam(stage, instance);
  const noise = await stage.process(new URL("noise.ts", import.meta.url), {
    YARD_NATS_URL: instance.natsUrl,
  });
  const noisePid = new Map([[noise.pid ?? 0, "the noisy team's clients"]]);
  const runsPerRound = Math.max(MIN_RUNS, windowMs / RUN_MS);
  await warmUp({ operation: () => quiet.run({ whole: [], begun: [] }) }, warmUpMs);
  const alone: Latencies = { whole: [], begun: [] };
  const computing: Latencies = { whole: [], begun: [] };
  const beside: Latencies = { whole: [], begun: [] };
  const used = new Map<string, number>();
  let idle = 0;
  for (let round = 0; round < rounds; round += 1) {
    for (let run = 0; run < runsPerRound; run += 1) await quiet.run(alone);
    const stopComputing = computeEverywhere(stage);
    for (let run = 0; run < runsPerRound; run += 1) await quiet.run(computing);
    stopComputing();
    noise.send("start");
    await once(noise, "message");
    const sharesSince = await watchProcessors();
    const before = await processorTimes(instance, noisePid);
    const startedAt = performance.now();
    for (let run = 0; run < runsPerRound; run += 1) await quiet.run(beside);
    const after = await processorTimes(instance, noisePid);
    const seconds = (performance.now() - startedAt) / 1_000;
    for (const [name, ms] of after ?? []) {
      const share = (ms - (before?.get(name) ?? 0)) / 10 / seconds / rounds;
      used.set(name, (used.get(name) ?? 0) + share);
    }
    idle += ((await sharesSince())?.idle ?? 0) / rounds;
    noise.send("stop");
    await once(noise, "message");
  }
  const busy = loadOf(computing.whole, windowMs);
  const [one, other] = [loadOf(alone.whole, windowMs), loadOf(beside.whole, windowMs)];
  const [oneBegun, otherBegun] = [loadOf(alone.begun, windowMs), loadOf(beside.begun, windowMs)];
  return {
    name: "neighbour",
    figures: [
      compared(
        { name: "p50 of a run", unit: "ms", value: other.p50Us / 1e3, baseline: one.p50Us / 1e3 },
        GOAL,
      ),
      pair("p99 of a run", other.p99Us, one.p99Us),
      pair("p50 until it has started", otherBegun.p50Us, oneBegun.p50Us),
      pair("p99 until it has started", otherBegun.p99Us, oneBegun.p99Us),
      pair("p50 beside processes that compute", busy.p50Us, one.p50Us),
      { name: "runs measured beside it", unit: "runs", value: beside.whole.length },
      { name: "processor time idle beside it", unit: "%", value: idle * 100 },
      ...[...used]
        .toSorted(([, a], [, b]) => b - a)
        .filter(([, share]) => share >= 1)
        .map(([name, value]) => ({ name: `  of one processor: ${name}`, unit: "%", value })),
    ],
  };
}

function pair(name: string, valueUs: number, baselineUs: number): Figure {
  return compared({ name, unit: "ms", value: valueUs / 1e3, baseline: baselineUs / 1e3 });
}

/** Keeps every processor busy, until the returned function is called. */
function computeEverywhere(stage: Stage): () => void {
  const processes = Array.from({ length: availableParallelism() }, () =>
    spawn(process.execPath, ["-e", "for (;;);"], { stdio: "ignore" }),
  );
  const stop = (): void => {
    for (const computing of processes) computing.kill("SIGKILL");
  };
  stage.onEnd(async () => stop());
  return stop;
}

async function quietTeam(
  stage: Stage,
  instance: DevInstance,
): Promise<{ readonly run: (latencies: Latencies) => Promise<void> }> {
  const bus = await connectAsCli(instance);
  stage.onEnd(() => bus.close());
  const runs = followRuns(bus);
  stage.onEnd(runs.stop);
  const begunAt = new Map<string, number>();
  const ended = new AbortController();
  const following = (async () => {
    const filters = [`yard.evt.run.${bus.user}.*.started`];
    for await (const { subject } of readEvents(bus, { filters, from: "now", signal: ended.signal }))
      begunAt.set(subject.split(".")[4] ?? "", performance.now());
  })();
  stage.onEnd(async () => {
    ended.abort();
    await following;
  });
  let count = 0;
  return {
    async run({ whole, begun }) {
      const runId = `quiet-${(count += 1)}`;
      const startedAt = performance.now();
      await runs.run(AGENT, { runId });
      whole.push((performance.now() - startedAt) * 1_000);
      begun.push(((begunAt.get(runId) ?? Number.NaN) - startedAt) * 1_000);
      begunAt.delete(runId);
    },
  };
}

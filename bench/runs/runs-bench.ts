import type { DevInstance } from "../../test/lib/yard-dev.ts";
import type { Figure, Report } from "../lib/figure.ts";
import { measureLoad, warmUp, type Load } from "../lib/measure.ts";
import { watchProcessors, type ProcessorShares } from "../lib/processor-shares.ts";
import { processorTimes } from "../lib/processor-time.ts";
import { startSwitchyard } from "../lib/switchyard.ts";
import type { Bench } from "../lib/bench.ts";
import { followRuns, type RunFollower } from "./run-follower.ts";

interface Kind {
  readonly name: string;
  readonly start: (run: RunFollower["run"]) => Promise<void>;
  /** Model calls and tool calls of one run: each is a journaled step. */
  readonly journaledSteps: number;
  readonly goal?: number;
}

const KINDS: readonly Kind[] = [
  {
    name: "one model step, three calls",
    start: (run) => run("one-step", { output: { type: "string" } }),
    journaledSteps: 5, // the answer is a call, too
    goal: 300,
  },
  {
    name: "two model steps, three calls",
    start: (run) => run("two-steps"),
    journaledSteps: 5,
  },
  {
    name: "four model steps, three calls",
    start: (run) => run("three-calls"),
    journaledSteps: 7,
  },
];

/**
 * Whole runs through the queue: command, scripted model calls, three brokered and policy-checked tool calls, every event, with
 * `appendfsync always` and `sync_interval: always`. Beside the runs a second, the processor time of each process for one, and the
 * share that a virtual machine's host used.
 */
export async function benchRuns({ stage, warmUpMs, windowMs, rounds }: Bench): Promise<Report> {
  const { bus, instance } = await startSwitchyard(stage, { runners: 1 });
  const { run, stop } = followRuns(bus);
  stage.onEnd(stop);
  const figures: Figure[] = [];
  for (const kind of KINDS) {
    const runOnce = (): Promise<void> => kind.start(run);
    await warmUp({ runOnce }, warmUpMs);
    const alone = await measureLoad({ operation: runOnce, inFlight: 1, durationMs: windowMs });
    figures.push(...loadFigures(kind, 1, alone));
    const full: Measured[] = [];
    for (let round = 0; round < rounds; round += 1)
      full.push(await measureCost(instance, runOnce, windowMs * 2));
    full.sort((one, other) => one.load.perSecond - other.load.perSecond);
    const median = full[Math.floor(full.length / 2)];
    if (median !== undefined)
      figures.push(
        ...loadFigures(kind, 64, median.load),
        ...shareFigures(kind, median),
        ...costFigures(kind, median),
      );
  }
  return { name: "runs", figures };
}

interface Measured {
  readonly load: Load;
  /** Milliseconds of processor time for one run, by process; null where they cannot be read. */
  readonly costMs: ReadonlyMap<string, number> | null;
  readonly shares: ProcessorShares | null;
}

async function measureCost(
  instance: DevInstance,
  runOnce: () => Promise<void>,
  durationMs: number,
): Promise<Measured> {
  let runs = 0;
  const operation = async (): Promise<void> => {
    await runOnce();
    runs += 1;
  };
  const sharesSince = await watchProcessors();
  const before = await processorTimes(instance);
  const load = await measureLoad({ operation, inFlight: 64, durationMs });
  const after = await processorTimes(instance);
  const shares = await sharesSince();
  if (before === null || after === null) return { load, costMs: null, shares };
  const cost = [...after].map(([name, ms]): [string, number] => [
    name,
    (ms - (before.get(name) ?? 0)) / runs,
  ]);
  return { load, costMs: new Map(cost), shares };
}

function loadFigures({ name, journaledSteps, goal }: Kind, inFlight: number, load: Load): Figure[] {
  const isGoal = goal !== undefined && inFlight === 64;
  return [
    {
      name: `${name}, ${inFlight} in flight`,
      value: load.perSecond,
      unit: "runs/s",
      ...(isGoal ? { goal: `≥ ${goal}`, met: load.perSecond >= goal } : {}),
    },
    {
      name: `  journaled steps, ${inFlight} in flight`,
      value: load.perSecond * journaledSteps,
      unit: "steps/s",
    },
    { name: `  p50, ${inFlight} in flight`, value: load.p50Us / 1_000, unit: "ms" },
    { name: `  p99, ${inFlight} in flight`, value: load.p99Us / 1_000, unit: "ms" },
  ];
}

/**
 * A virtual machine of two processors has fewer when its host is busy. The host's share is printed beside the measurement, with the
 * figure that the same work would reach with all of the time: idle time is not part of it.
 */
function shareFigures({ name }: Kind, { load, shares }: Measured): Figure[] {
  if (shares === null) return [];
  const { stolen, idle } = shares;
  return [
    { name: "  processor time taken by the host", value: stolen * 100, unit: "%" },
    { name: "  processor time idle", value: idle * 100, unit: "%" },
    {
      name: `${name}, 64 in flight, had the host taken none`,
      value: load.perSecond / (1 - stolen),
      unit: "runs/s",
    },
  ];
}

function costFigures({ name }: Kind, { costMs }: Measured): Figure[] {
  if (costMs === null) return [];
  const shares = [...costMs].toSorted(([, one], [, other]) => other - one);
  const total = shares.reduce((sum, [, ms]) => sum + ms, 0);
  return [
    { name: `${name}: processor time of a run`, value: total, unit: "ms" },
    ...shares
      .filter(([, ms]) => ms >= 0.005)
      .map(([process, ms]) => ({ name: `  ${process}`, value: ms, unit: "ms" })),
  ];
}

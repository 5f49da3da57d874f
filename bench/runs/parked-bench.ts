import { setTimeout as delay } from "node:timers/promises";
import { call } from "@switchyard/bus/call";
import { publishCommand } from "@switchyard/bus/publish";
import { startRun, listRuns } from "@switchyard/contracts/agent-runner/runs";
import type { Bus } from "@switchyard/bus/bus";
import type { Report } from "../lib/figure.ts";
import { INSPECTED, watchHeap, type HeapWatch } from "../lib/collected-heap.ts";
import { startSwitchyard } from "../lib/switchyard.ts";
import type { Bench } from "../lib/bench.ts";
import { readMetrics } from "./read-metrics.ts";

const GOAL_BYTES = 4_096;
/** Runs before the measurement, which fill code caches, pools and other caches. */
const WARM_UP = 1_000;
const AT_ONCE = 200;

/** Runs that wait for a person: the memory of each in a runner, and how many slots it holds. */
export async function benchParked({ stage, rounds }: Bench): Promise<Report> {
  const count = rounds > 1 ? 10_000 : 1_000;
  const { bus, instance } = await startSwitchyard(stage, { runners: 1, env: INSPECTED });
  const heap = await watchHeap(instance, "runner");
  stage.onEnd(async () => heap.close());
  const healthUrl = instance.processes.find(({ name }) => name === "runner")?.healthUrl ?? "";
  await park(bus, "warm-up", WARM_UP);
  const before = await settledHeap(heap);
  const startedAt = performance.now();
  await park(bus, "parked", count);
  const seconds = (performance.now() - startedAt) / 1_000;
  const after = await settledHeap(heap);
  const { yard_runner_slots_busy: held = Number.NaN } = await readMetrics(healthUrl);
  const bytes = Math.max(0, after - before) / count;
  return {
    name: "parked",
    figures: [
      { name: "runs parked", value: count / seconds, unit: "runs/s" },
      {
        name: `places held by ${count} parked runs`,
        value: held,
        unit: "runs",
        goal: "0",
        met: held === 0,
      },
      {
        name: `heap of the runner for each of ${count} parked runs`,
        value: bytes,
        unit: "bytes",
        goal: "< 4 KB",
        met: bytes < GOAL_BYTES,
      },
    ],
  };
}

async function park(bus: Bus, name: string, count: number): Promise<void> {
  for (let start = 0; start < count; start += AT_ONCE) {
    const ids = Array.from({ length: Math.min(AT_ONCE, count - start) }, (_, n) => start + n);
    await Promise.all(
      ids.map((n) =>
        publishCommand(bus, startRun, { agent: "asks" }, { input: "go", runId: `${name}-${n}` }),
      ),
    );
  }
  for (;;) {
    const { runs } = await call(bus, listRuns, { limit: 1, status: "running" });
    const last = await call(bus, listRuns, { limit: 1 });
    if (runs.length === 0 && last.runs[0]?.runId === `me~${name}-${count - 1}`) return;
    await delay(500);
  }
}

/** Time after which leftovers of a run, such as the timers of its last requests, are gone. */
const SETTLED_MS = 10_000;

async function settledHeap(heap: HeapWatch): Promise<number> {
  await delay(SETTLED_MS);
  return heap.liveBytes();
}

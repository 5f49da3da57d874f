import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Redis } from "@switchyard/service/redis";
import { startYardDev, type DevInstance } from "../../test/lib/yard-dev.ts";
import type { Bench } from "../lib/bench.ts";
import { compared, type Figure, type Report } from "../lib/figure.ts";
import { measureInTurn } from "../lib/in-turn.ts";
import { warmUp } from "../lib/measure.ts";
import type { Stage } from "../lib/stage.ts";
import { startSwitchyard } from "../lib/switchyard.ts";
import { connectAsAdmin } from "./admin-redis.ts";
import { followRuns } from "./run-follower.ts";
import { readCounts, type Counts } from "./counts.ts";

const AGENT = "two-steps";
const STARTS = { whole: 5, quick: 2 };
const COUNTED_RUNS = { whole: 300, quick: 50 };
const IDLE_MS = 5_000;
const COUNTING = fileURLToPath(new URL("count-calls.ts", import.meta.url));

/** Compares all services in one process with one process for each: their start, their memory, a run, and the work that a run causes. */
export async function benchOneProcess(bench: Bench): Promise<Report> {
  const isQuick = bench.rounds === 1;
  const figures = [
    ...(await startFigures(bench.stage, isQuick ? STARTS.quick : STARTS.whole)),
    ...(await runFigures(bench)),
    ...(await countFigures(bench.stage, isQuick ? COUNTED_RUNS.quick : COUNTED_RUNS.whole)),
  ];
  return { name: "one-process", figures };
}

/** Runs both modes in turn, on empty state directories, with the compile cache of Node.js filled. */
async function startFigures(stage: Stage, times: number): Promise<Figure[]> {
  const cache = await stage.directory();
  const took: Record<"together" | "apart", number[]> = { together: [], apart: [] };
  const resident: Record<"together" | "apart", number[]> = { together: [], apart: [] };
  for (let turn = 0; turn <= times; turn += 1)
    for (const mode of ["together", "apart"] as const) {
      const stateDir = await stage.directory();
      const env = { NODE_COMPILE_CACHE: cache };
      const apart = mode === "apart";
      const started = performance.now();
      const instance = await startYardDev({ project: "bench/project", stateDir, apart, env });
      const readyMs = performance.now() - started;
      const mib = await residentMib(instance);
      await instance.stop();
      if (turn === 0) continue;
      took[mode].push(readyMs);
      resident[mode].push(mib);
    }
  return [
    compared(
      {
        name: "yard dev until it is ready",
        value: median(took.together),
        baseline: median(took.apart),
        unit: "ms",
      },
      atMost(0.4),
    ),
    compared(
      {
        name: "resident memory of the services when ready",
        value: median(resident.together),
        baseline: median(resident.apart),
        unit: "MiB",
      },
      atMost(0.3),
    ),
  ];
}

async function runFigures({ stage, warmUpMs, windowMs, rounds }: Bench): Promise<Figure[]> {
  const together = await startRuns(stage, false);
  const apart = await startRuns(stage, true);
  const operations = { together: together.run, apart: apart.run };
  await warmUp(operations, warmUpMs);
  const loads = await measureInTurn(operations, { inFlight: 1, windowMs, rounds, sliceMs: 2_000 });
  const figures = [
    compared(
      {
        name: "run of two model steps and three calls, p50, 1 in flight",
        value: loads.together.p50Us / 1_000,
        baseline: loads.apart.p50Us / 1_000,
        unit: "ms",
      },
      atMost(0.65),
    ),
    compared({
      name: "resident memory of the services after these runs",
      value: await residentMib(together.instance),
      baseline: await residentMib(apart.instance),
      unit: "MiB",
    }),
  ];
  const many = await measureInTurn(operations, { inFlight: 64, windowMs, rounds, sliceMs: 2_000 });
  figures.push(
    compared({
      name: "such runs, 64 in flight",
      value: many.together.perSecond,
      baseline: many.apart.perSecond,
      unit: "/s",
    }),
  );
  await together.end();
  await apart.end();
  return figures;
}

/** The services' work for one run, at 1 in flight, less their work in the same time without a run. */
async function countFigures(stage: Stage, runs: number): Promise<Figure[]> {
  const [together, apart] = [
    await countedRun(stage, false, runs),
    await countedRun(stage, true, runs),
  ];
  return [...together].map(([name, value]) =>
    compared({ name: `${name} of one run`, value, baseline: apart.get(name) ?? NaN, unit: "" }),
  );
}

async function countedRun(
  stage: Stage,
  apart: boolean,
  runs: number,
): Promise<ReadonlyMap<string, number>> {
  const env = { NODE_OPTIONS: `--import=${COUNTING}` };
  const { run, instance, end } = await startRuns(stage, apart, env);
  const redis = await connectAsAdmin(instance);
  for (let count = 0; count < 50; count += 1) await run();
  const idle = await change(instance, redis, () => delay(IDLE_MS));
  const busy = await change(instance, redis, async () => {
    for (let count = 0; count < runs; count += 1) await run();
  });
  redis.disconnect();
  await end();
  const counts = [...busy.counts].map(([name, value]): [string, number] => {
    const anyway = ((idle.counts.get(name) ?? 0) / idle.tookMs) * busy.tookMs;
    return [name, (value - anyway) / runs];
  });
  return new Map(counts);
}

async function change(instance: DevInstance, redis: Redis, work: () => Promise<unknown>) {
  const before = await countsOf(instance, redis);
  const began = performance.now();
  await work();
  const tookMs = performance.now() - began;
  const after = await countsOf(instance, redis);
  const grown = [...after].map(([name, value]): [string, number] => [
    name,
    value - (before.get(name) ?? 0),
  ]);
  return { tookMs, counts: new Map(grown) };
}

async function countsOf(instance: DevInstance, redis: Redis): Promise<ReadonlyMap<string, number>> {
  const commands = /^total_commands_processed:(\d+)/m.exec(await redis.info("stats"))?.[1];
  const ports = join(instance.stateDir, "data/nats/ports");
  const [file = ""] = await readdir(ports);
  const addresses: { monitoring: string[] } = JSON.parse(await readFile(join(ports, file), "utf8"));
  const answer = await fetch(new URL("/varz", addresses.monitoring[0]));
  const { in_msgs: received } = (await answer.json()) as { in_msgs: number }; // as nats-server documents
  const { encodings, decodings, timers, immediates, writes }: Counts = await readCounts(
    servicesOf(instance).map(({ pid }) => pid),
  );
  return new Map([
    ["commands of Redis", Number(commands)],
    ["messages to nats-server", received],
    ["JSON texts written", encodings],
    ["JSON texts read", decodings],
    ["timers", timers],
    ["turns of the event loop that were requested", immediates],
    ["writes to sockets", writes],
  ]);
}

async function startRuns(stage: Stage, apart: boolean, env: Record<string, string> = {}) {
  const { bus, instance, end } = await startSwitchyard(stage, { runners: 1, apart, env });
  const { run, stop } = followRuns(bus);
  return {
    instance,
    run: () => run(AGENT),
    end: async () => {
      await stop();
      await end();
    },
  };
}

function servicesOf({ processes }: DevInstance) {
  return processes.filter(({ name }) => name !== "nats" && name !== "redis");
}

async function residentMib(instance: DevInstance): Promise<number> {
  let kib = 0;
  for (const { pid } of servicesOf(instance)) {
    const status = await readFile(`/proc/${pid}/status`, "utf8");
    kib += Number(/^VmRSS:\s*(\d+) kB/m.exec(status)?.[1]);
  }
  return kib / 1_024;
}

function atMost(limit: number) {
  return { text: `≤ ${limit}×`, holds: (ratio: number) => ratio <= limit };
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

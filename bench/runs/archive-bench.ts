import { join } from "node:path";
import { call } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { getRun } from "@switchyard/contracts/agent-runner/runs";
import type { Redis } from "@switchyard/service/redis";
import { archiveRuns } from "../../test/lib/archive-runs.ts";
import type { Bench } from "../lib/bench.ts";
import { compared, type Figure, type Report } from "../lib/figure.ts";
import { loadOf, type Load } from "../lib/measure.ts";
import { sizeOf } from "../lib/size-of.ts";
import { startSwitchyard } from "../lib/switchyard.ts";
import { connectAsAdmin } from "./admin-redis.ts";
import { followRuns } from "./run-follower.ts";

const IN_FLIGHT = 32;
/** The first reads compile code and connect, in Redis as in the archive. */
const WARM_UP = 50;

/** Ended runs of four model steps and three calls: what they take before and after the move, and how long a read of one takes. */
export async function benchArchive({ stage, rounds }: Bench): Promise<Report> {
  const count = rounds > 1 ? 2_000 : 200;
  const { bus, instance } = await startSwitchyard(stage, { runners: 1, apart: false });
  const redis = await connectAsAdmin(instance);
  stage.onEnd(async () => redis.disconnect());
  const bucket = join(
    instance.stateDir,
    "data/nats/jetstream/jetstream/$G/streams/OBJ_YARD_ARCHIVE",
  );
  const runIds = await endRuns(bus, count);
  const [inRedis, empty] = [await bytesInRedis(redis, runIds), await sizeOf(bucket)];
  const warm = await readEach(bus, runIds);
  const began = performance.now();
  await archiveRuns(instance, runIds);
  const seconds = (performance.now() - began) / 1_000;
  const archived = (await sizeOf(bucket)) - empty;
  const cold = await readEach(bus, runIds);
  return {
    name: "archive",
    figures: [
      compared({
        name: `bytes of Redis for one of ${count} ended runs`,
        value: (await bytesInRedis(redis, runIds)) / count,
        unit: "bytes",
        baseline: inRedis / count,
      }),
      { name: "bytes of the archive's files for each", value: archived / count, unit: "bytes" },
      {
        name: "moves, at most 200 in a round of the sweeper",
        value: count / seconds,
        unit: "runs/s",
      },
      inMilliseconds("the first read of a run, p50, 1 in flight", cold.p50Us, warm.p50Us),
      inMilliseconds("the first read of a run, p99, 1 in flight", cold.p99Us, warm.p99Us),
    ],
  };
}

function inMilliseconds(name: string, value: number, baseline: number): Figure {
  return compared({ name, value: value / 1_000, unit: "ms", baseline: baseline / 1_000 });
}

/** Runs so many to their ends; returns their ids. */
async function endRuns(bus: Bus, count: number): Promise<string[]> {
  const { run, stop } = followRuns(bus);
  const names = Array.from({ length: count }, (_, index) => `archive-${index}`);
  const left = [...names];
  const next = async (): Promise<void> => {
    for (let runId = left.pop(); runId !== undefined; runId = left.pop())
      await run("three-calls", { runId });
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, next));
  await stop();
  return names.map((name) => `${bus.user}~${name}`);
}

async function bytesInRedis(redis: Redis, runIds: readonly string[]): Promise<number> {
  let bytes = 0;
  for (const runId of runIds)
    for (const key of ["state", "journal", "blobs"])
      bytes += (await redis.memory("USAGE", `yard:run:{${runId}}:${key}`)) ?? 0;
  return bytes;
}

/** Reads each run once, one after the other. */
async function readEach(bus: Bus, runIds: readonly string[]): Promise<Load> {
  const latencies: number[] = [];
  for (const runId of runIds) {
    const began = performance.now();
    await call(bus, getRun, { runId });
    latencies.push((performance.now() - began) * 1_000);
  }
  return loadOf(latencies.slice(WARM_UP), 1_000);
}

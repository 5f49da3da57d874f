import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Redis } from "@switchyard/service/redis";
import type { DevInstance } from "../../test/lib/yard-dev.ts";
import type { Bench } from "../lib/bench.ts";
import type { Figure, Report } from "../lib/figure.ts";
import { sizeOf } from "../lib/size-of.ts";
import { processorTimes } from "../lib/processor-time.ts";
import { startSwitchyard } from "../lib/switchyard.ts";
import { connectAsAdmin } from "./admin-redis.ts";
import { followRuns } from "./run-follower.ts";

const IN_FLIGHT = 64;
const WARM_UP = 200;

/**
 * Measures what one run of four model steps and three tool calls leaves behind, in Redis and in each stream, the cost of each
 * process for it, and the processes' size after that: the figures for sizing an installation.
 */
export async function benchCapacity({ stage, rounds }: Bench): Promise<Report> {
  const { bus, instance } = await startSwitchyard(stage, { runners: 1 });
  const redis = await connectAsAdmin(instance);
  stage.onEnd(async () => redis.disconnect());
  const { run, stop } = followRuns(bus);
  stage.onEnd(stop);
  const work = async (count: number): Promise<void> => {
    let left = count;
    const next = async (): Promise<void> => {
      while ((left -= 1) >= 0) await run("three-calls");
    };
    await Promise.all(Array.from({ length: IN_FLIGHT }, next));
  };
  await work(WARM_UP);
  const runs = rounds === 1 ? 500 : 3_000;
  const before = await facts(instance, redis);
  const began = performance.now();
  await work(runs);
  const seconds = (performance.now() - began) / 1_000;
  const after = await facts(instance, redis);
  const figures: Figure[] = [
    { name: "runs", value: runs, unit: "" },
    {
      name: "runs a second, which says as much about the machine",
      value: runs / seconds,
      unit: "/s",
    },
  ];
  for (const [name, { value, unit }] of after) {
    const grown = value - (before.get(name)?.value ?? 0);
    if (unit === "MiB" || unit === "") figures.push({ name, value, unit });
    else figures.push({ name: `${name} of a run`, value: grown / runs, unit });
  }
  return { name: "capacity", figures };
}

type Facts = ReadonlyMap<string, { readonly value: number; readonly unit: string }>;

async function facts(instance: DevInstance, redis: Redis): Promise<Facts> {
  const found = new Map<string, { value: number; unit: string }>();
  const memory = /^used_memory:(\d+)/m.exec(await redis.info("memory"))?.[1];
  found.set("memory of Redis", { value: Number(memory), unit: "bytes" });
  found.set("append-only file of Redis, not rewritten", {
    value: await sizeOf(join(instance.stateDir, "data", "redis", "appendonlydir")),
    unit: "bytes",
  });
  const streams = join(instance.stateDir, "data/nats/jetstream/jetstream/$G/streams");
  for (const stream of await readdir(streams))
    found.set(`disk of NATS, ${stream}`, {
      value: await sizeOf(join(streams, stream)),
      unit: "bytes",
    });
  for (const [name, value] of (await processorTimes(instance)) ?? [])
    found.set(`processor time, ${name}`, { value, unit: "ms" });
  for (const { name, pid } of instance.processes) {
    const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
    const peak = /^VmHWM:\s*(\d+) kB/m.exec(status)?.[1];
    if (peak !== undefined)
      found.set(`most memory, ${name}`, { value: Number(peak) / 1_024, unit: "MiB" });
  }
  const clients = /^connected_clients:(\d+)/m.exec(await redis.info("clients"))?.[1];
  found.set("connections to Redis, this one and a probe's with them", {
    value: Number(clients),
    unit: "",
  });
  const ports = join(instance.stateDir, "data/nats/ports");
  const [file = ""] = await readdir(ports);
  const reported: { monitoring: string[] } = JSON.parse(await readFile(join(ports, file), "utf8"));
  const list = await fetch(new URL("/connz", reported.monitoring[0]));
  // The format that nats-server documents.
  const { connections } = (await list.json()) as {
    connections: { name?: string; subscriptions: number }[];
  };
  for (const { name = "of a client", subscriptions } of connections)
    found.set(`subscriptions of the connection ${name}`, { value: subscriptions, unit: "" });
  return found;
}

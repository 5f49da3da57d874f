import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { connect, nkeyAuthenticator } from "@nats-io/transport-node";
import type { Redis } from "@switchyard/service/redis";
import { adminUser } from "@switchyard/topology/topology";
import { eventStream } from "@switchyard/topology/streams";
import type { DevInstance } from "../../test/lib/yard-dev.ts";
import type { Bench } from "../lib/bench.ts";
import type { Figure, Report } from "../lib/figure.ts";
import { residentBytes } from "../lib/resident-bytes.ts";
import { sizeOf } from "../lib/size-of.ts";
import type { Stage } from "../lib/stage.ts";
import { startSwitchyard } from "../lib/switchyard.ts";
import { connectAsAdmin } from "./admin-redis.ts";
import { countKeys } from "./count-keys.ts";
import { startEvenly, type Starts } from "./start-evenly.ts";

const SAMPLES = 60;
/** Every so many samples are printed: five minutes of an hour. */
const PRINTED = 5;
const PER_SECOND = 50;
const MIB = 1024 ** 2;
/** The events' stream is full after some 18,000 runs, or 2,000. */
const HOUR = { lengthMs: 3_600_000, eventBytes: 64 * MIB };
const QUICK = { lengthMs: 120_000, eventBytes: 8 * MIB };
const REQUEST_MS = 30_000;
/** A kind of key that runs leave behind has more keys than that. */
const MANY_KEYS = 100;
/** Growth of nats-server's memory within half of the time, beside its mean: less counts as level. */
const LEVEL = 0.05;

/**
 * Starts 50 runs a second for an hour, of two model steps and one call. Journals leave Redis after a twelfth of the time, and the events' stream is full after a
 * sixth, so what grows in the second half grows for as long as an installation runs.
 */
export async function benchArchiveHour({ stage, rounds }: Bench): Promise<Report> {
  const { lengthMs, eventBytes } = rounds > 1 ? HOUR : QUICK;
  const env = {
    YARD_RUN_ARCHIVE_MS: String(lengthMs / 12),
    YARD_OWNER_STORAGE_MIB: "8192",
    YARD_LOG_LEVEL: "warn",
  };
  const { bus, instance } = await startSwitchyard(stage, { runners: 1, apart: false, env });
  const storedEvents = await boundEvents(stage, instance, eventBytes);
  const redis = await connectAsAdmin(instance);
  stage.onEnd(async () => redis.disconnect());
  const starts = startEvenly(bus, { agent: "one-call", perSecond: PER_SECOND, forMs: lengthMs });
  stage.onEnd(starts.stop);
  const samples: Sample[] = [];
  const began = performance.now();
  for (let count = 0; count <= SAMPLES; count += 1) {
    await delay(Math.max(0, began + (count * lengthMs) / SAMPLES - performance.now()));
    const sample = await takeSample(
      { instance, redis, starts, storedEvents },
      performance.now() - began,
    );
    samples.push(sample);
    if (count % PRINTED === 0)
      console.log(count === 0 ? `${titles()}\n${row(sample)}` : row(sample));
  }
  await starts.ended;
  for (const failure of starts.failures) console.log(failure);
  for (const [text, count] of warningsOf(instance)) console.log(`${count} times: ${text}`);
  const keys = (await countKeys(redis)).filter(({ count }) => count >= MANY_KEYS);
  for (const { kind, count, endless } of keys)
    console.log(`${kind}: ${count} keys, ${endless} of them without expiry`);
  return { name: "archive-hour", figures: [...figuresOf(samples), ...figuresAtEnd(starts, keys)] };
}

/** Makes the events' stream so small that it is full within the time, as its 4 GiB are after some days. Returns a function that counts what it has. */
async function boundEvents(
  stage: Stage,
  { natsUrl, stateDir }: DevInstance,
  maxBytes: number,
): Promise<() => Promise<number>> {
  const seed = await readFile(join(stateDir, "keys", "admin.nk"), "utf8");
  const nc = await connect({
    servers: natsUrl,
    inboxPrefix: adminUser.inboxPrefix,
    authenticator: nkeyAuthenticator(new TextEncoder().encode(seed.trim())),
  });
  stage.onEnd(() => nc.close());
  const request = async (verb: string, body = ""): Promise<StreamInfo> => {
    const subject = `$JS.API.STREAM.${verb}.${eventStream.name}`;
    const answer = await nc.request(subject, body, { timeout: REQUEST_MS });
    const found = answer.json<StreamInfo & { error?: unknown }>();
    if (found.error !== undefined) throw new Error(JSON.stringify(found.error));
    return found;
  };
  const { config } = await request("INFO");
  await request("UPDATE", JSON.stringify({ ...config, max_bytes: maxBytes }));
  return async () => (await request("INFO")).state.messages;
}

/** The format that nats-server documents. */
interface StreamInfo {
  readonly config: Record<string, unknown>;
  readonly state: { readonly messages: number };
}

interface Sample {
  readonly minutes: number;
  readonly natsBytes: number;
  readonly hostBytes: number;
  readonly redisBytes: number;
  readonly archiveBytes: number;
  readonly events: number;
  readonly ended: number;
  /** Ended runs whose journals are in Redis. */
  readonly waiting: number;
  readonly underWay: number;
  readonly failed: number;
  readonly skipped: number;
}

async function takeSample(
  parts: {
    readonly instance: DevInstance;
    readonly redis: Redis;
    readonly starts: Starts;
    readonly storedEvents: () => Promise<number>;
  },
  ms: number,
): Promise<Sample> {
  const { instance, redis, starts, storedEvents } = parts;
  const { ended, underWay, failed, skipped } = starts.counts();
  const pidOf = (name: string): number =>
    instance.processes.find((process) => process.name === name)?.pid ?? 0;
  const bucket = join(
    instance.stateDir,
    "data/nats/jetstream/jetstream/$G/streams/OBJ_YARD_ARCHIVE",
  );
  const memory = await redis.info("memory");
  return {
    minutes: ms / 60_000,
    natsBytes: await residentBytes(pidOf("nats")),
    hostBytes: await residentBytes(pidOf("switchyard")),
    redisBytes: Number(/^used_memory:(\d+)/m.exec(memory)?.[1]),
    archiveBytes: await sizeOf(bucket),
    events: await storedEvents(),
    ended,
    waiting: await redis.zcard("yard:runs:ended"),
    underWay,
    failed,
    skipped,
  };
}

const COLUMNS: readonly (readonly [title: string, value: (sample: Sample) => number])[] = [
  ["minute", ({ minutes }) => minutes],
  ["nats-server MiB", ({ natsBytes }) => natsBytes / MIB],
  ["services MiB", ({ hostBytes }) => hostBytes / MIB],
  ["Redis MiB", ({ redisBytes }) => redisBytes / MIB],
  ["archive MiB", ({ archiveBytes }) => archiveBytes / MIB],
  ["events stored", ({ events }) => events],
  ["ended", ({ ended }) => ended],
  ["archived", archived],
  ["to be archived", ({ waiting }) => waiting],
  ["under way", ({ underWay }) => underWay],
  ["failed", ({ failed }) => failed],
  ["not started", ({ skipped }) => skipped],
];

function titles(): string {
  return COLUMNS.map(([title]) => title.padStart(8)).join("  ");
}

function row(sample: Sample): string {
  return COLUMNS.map(([title, value]) => {
    const number = value(sample);
    const text = Number.isInteger(number) ? String(number) : number.toFixed(1);
    return text.padStart(Math.max(8, title.length));
  }).join("  ");
}

function archived({ ended, waiting }: Sample): number {
  return Math.max(0, ended - waiting);
}

function figuresOf(samples: readonly Sample[]): Figure[] {
  const half = samples.slice(Math.floor(samples.length / 2));
  const [first, middle, last] = [samples[0], half[0], samples.at(-1)];
  if (first === undefined || middle === undefined || last === undefined) return [];
  const minutes = last.minutes - middle.minutes;
  const mean = half.reduce((sum, { natsBytes }) => sum + natsBytes, 0) / half.length / MIB;
  const growth = (slope(half, ({ natsBytes }) => natsBytes) * minutes) / MIB;
  const share = growth / mean;
  const ended = last.ended - middle.ended;
  return [
    { name: "runs that ended", value: last.ended, unit: "" },
    { name: "  in a second", value: last.ended / last.minutes / 60, unit: "/s" },
    { name: "  in a second of the second half", value: ended / minutes / 60, unit: "/s" },
    { name: "memory of nats-server, mean of the second half", value: mean, unit: "MiB" },
    {
      name: `  its growth within these ${Math.round(minutes)} min, by their trend`,
      value: growth,
      unit: "MiB",
      baseline: mean,
      ratio: share,
      goal: "≤ 0.05×",
      met: share <= LEVEL,
    },
    {
      name: "memory of the services' process, growth by the same trend",
      value: (slope(half, ({ hostBytes }) => hostBytes) * minutes) / MIB,
      unit: "MiB",
      baseline: last.hostBytes / MIB,
    },
    {
      name: "Redis for each run that ended in the second half",
      value: (last.redisBytes - middle.redisBytes) / ended,
      unit: "bytes",
    },
    {
      name: "archive's files for each archived run",
      value: (last.archiveBytes - first.archiveBytes) / archived(last),
      unit: "bytes",
    },
    {
      name: "ended runs that are not archived, most of the second half",
      value: Math.max(...half.map(({ waiting }) => waiting)),
      unit: "runs",
      baseline: middle.waiting,
    },
  ];
}

function figuresAtEnd(
  starts: Starts,
  keys: readonly { readonly kind: string; readonly endless: number }[],
): Figure[] {
  const { failed, skipped, underWay } = starts.counts();
  return [
    { name: "runs that failed", value: failed, unit: "" },
    { name: "runs without an end", value: underWay, unit: "" },
    { name: "runs that were not started, since too many were under way", value: skipped, unit: "" },
    {
      name: "keys in Redis without expiry of which there are many",
      value: keys.reduce((sum, one) => sum + one.endless, 0),
      unit: "",
    },
  ];
}

/** Counts the warnings of services. */
function warningsOf({ log }: DevInstance): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { service, msg } of log.filter((line) => line["service"] !== "yard")) {
    const text = `${String(service)}: ${String(msg)}`;
    counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  return counts;
}

/** The growth in a minute by the straight line that is nearest to all samples. */
function slope(samples: readonly Sample[], value: (sample: Sample) => number): number {
  const mean = (of: (sample: Sample) => number): number =>
    samples.reduce((sum, sample) => sum + of(sample), 0) / samples.length;
  const [x, y] = [mean(({ minutes }) => minutes), mean(value)];
  const shared = samples.reduce((sum, one) => sum + (one.minutes - x) * (value(one) - y), 0);
  return shared / samples.reduce((sum, one) => sum + (one.minutes - x) ** 2, 0);
}

// The data of an installation in Redis and JetStream, as text, so that a version's data is available without its code.
//
// Times are moved when it is restored, as if it had been recorded a minute ago: limits, leases and keys that expire would be over
// otherwise. The audit keeps its own, because its chain has digests of them.

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { testNats, testRedis } from "@switchyard/testing/test-servers";
import { createLog } from "@switchyard/service/log";
import { connectRedis, type Redis } from "@switchyard/service/redis";
import {
  connect,
  headers,
  type JetStreamManager,
  type NatsConnection,
  type StreamConfig,
} from "nats";
import { z } from "zod";

const Key = z.object({
  key: z.string(),
  type: z.enum(["string", "hash", "list", "set", "zset"]),
  /** A single string, the items, or names and values in turn. */
  value: z.array(z.string()),
  /** -1: for ever. */
  ttlMs: z.number(),
});
const Message = z.object({
  seq: z.number(),
  subject: z.string(),
  headers: z.array(z.tuple([z.string(), z.array(z.string())])),
  text: z.string(),
});
const Stream = z.object({
  config: z.record(z.string(), z.unknown()),
  nextSeq: z.number(),
  messages: z.array(Message),
});
export const Recording = z.object({
  version: z.string(),
  recordedAt: z.iso.datetime(),
  redis: z.array(Key),
  streams: z.array(Stream),
});
export type Recording = z.infer<typeof Recording>;

/** A placeholder for the directory of the installation. */
const DIRECTORY = "{{directory}}";
const MINUTE_MS = 60_000;
const log = createLog({ service: "test", level: "silent" });

export async function readRecording(file: string): Promise<Recording> {
  return Recording.parse(JSON.parse(await readFile(file, "utf8")));
}

/** Writes what an installation that has stopped left in its state directory. */
export async function record(
  file: string,
  from: { readonly version: string; readonly directory: string; readonly stateDir: string },
): Promise<void> {
  const redis = await withRedis(from.stateDir, readKeys);
  const streams = await withNats(from.stateDir, async (connection) =>
    readStreams(await connection.jetstreamManager()),
  );
  const { version } = from;
  const recording: Recording = { version, recordedAt: new Date().toISOString(), redis, streams };
  const text = JSON.stringify(recording, null, 1).replaceAll(from.directory, DIRECTORY);
  await writeFile(file, `${text}\n`);
}

/** Makes a state directory with what was recorded, for an installation that has not been started yet. */
export async function restore(
  recording: Recording,
  to: { readonly directory: string; readonly stateDir: string },
): Promise<void> {
  const byMs = Date.now() - MINUTE_MS - Date.parse(recording.recordedAt);
  const here = (text: string) => text.replaceAll(DIRECTORY, to.directory);
  const now = (text: string) => movedBy(here(text), byMs);
  await withRedis(to.stateDir, async (redis) => {
    for (const each of recording.redis)
      await writeKey(redis, { ...each, value: each.value.map(now) });
  });
  await withNats(to.stateDir, async (connection) => {
    for (const stream of recording.streams) {
      const change = stream.config["name"] === "YARD_AUDIT" ? here : now;
      const messages = stream.messages.map((message) => ({
        ...message,
        text: change(message.text),
        headers: message.headers.map(([name, values]): [string, string[]] => [
          name,
          values.map(change),
        ]),
      }));
      await writeStream(connection, { ...stream, messages });
    }
  });
}

const TIME = /\b\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{3})?Z/g;
const MILLISECONDS = /(?<![\w.-])1[67]\d{11}(?![\w.-])/g;

/** Both kinds of times that data has. */
function movedBy(text: string, ms: number): string {
  return text
    .replace(TIME, (time) => new Date(Date.parse(time) + ms).toISOString())
    .replace(MILLISECONDS, (time) => String(Number(time) + ms));
}

async function withRedis<T>(stateDir: string, use: (redis: Redis) => Promise<T>): Promise<T> {
  const server = await testRedis({
    dataDir: join(stateDir, "data/redis"),
    appendfsync: "always",
  });
  const redis = await connectRedis({ url: server.url, name: "test", log });
  try {
    return await use(redis);
  } finally {
    redis.disconnect();
    await server.stop();
  }
}

async function readKeys(redis: Redis): Promise<Recording["redis"]> {
  const keys = (await redis.keys("*")).toSorted();
  return Promise.all(
    keys.map(async (key) => {
      const type = Key.shape.type.parse(await redis.type(key));
      const value = await readValue(redis, key, type);
      return { key, type, value, ttlMs: await redis.pttl(key) };
    }),
  );
}

async function readValue(redis: Redis, key: string, type: string): Promise<string[]> {
  switch (type) {
    case "string":
      return [(await redis.get(key)) ?? ""];
    case "hash":
      return Object.entries(await redis.hgetall(key)).flat();
    case "list":
      return redis.lrange(key, 0, -1);
    case "set":
      return (await redis.smembers(key)).toSorted();
    default:
      return redis.zrange(key, "0", "-1", "WITHSCORES");
  }
}

async function writeKey(
  redis: Redis,
  { key, type, value, ttlMs }: Recording["redis"][number],
): Promise<void> {
  if (type === "string") await redis.set(key, value[0] ?? "");
  if (type === "hash") await redis.call("HSET", [key, ...value]);
  if (type === "list") await redis.rpush(key, ...value);
  if (type === "set") await redis.sadd(key, ...value);
  if (type === "zset") {
    for (let at = 0; at < value.length; at += 2)
      await redis.zadd(key, value[at + 1] ?? "0", value[at] ?? "");
  }
  if (ttlMs > 0) await redis.pexpire(key, ttlMs);
}

async function withNats<T>(
  stateDir: string,
  use: (connection: NatsConnection) => Promise<T>,
): Promise<T> {
  const server = await testNats({ dataDir: join(stateDir, "data/nats") });
  const connection = await connect({ servers: server.url });
  try {
    return await use(connection);
  } finally {
    await connection.close();
    await server.stop();
  }
}

async function readStreams(manager: JetStreamManager): Promise<Recording["streams"]> {
  const found: Recording["streams"] = [];
  for await (const { config, state } of manager.streams.list()) {
    const messages: Recording["streams"][number]["messages"] = [];
    for (let seq = state.first_seq; state.messages > 0 && seq <= state.last_seq; seq += 1) {
      const message = await manager.streams.getMessage(config.name, { seq }).catch(() => null);
      if (message === null) continue;
      const { subject } = message;
      const named = [...message.header].map(([name, values]): [string, string[]] => [name, values]);
      messages.push({ seq, subject, headers: named, text: message.string() });
    }
    found.push({ config: { ...config }, nextSeq: state.last_seq + 1, messages });
  }
  return found;
}

/** Restores each message at its sequence in the stream, which journals refer to. */
async function writeStream(
  connection: NatsConnection,
  { config, nextSeq, messages }: Recording["streams"][number],
): Promise<void> {
  const manager = await connection.jetstreamManager();
  const wanted = config as unknown as StreamConfig; // read from the server
  const { subject_transform: renaming, sources: _, ...plain } = wanted;
  // Messages that are renamed when they are published are stored under subjects that the stream does not accept.
  const stored = [...new Set(messages.map(({ subject }) => subject))];
  const subjects = [
    ...(renaming === undefined ? wanted.subjects : stored),
    `restore.${wanted.name}`,
  ];
  const first = messages[0]?.seq ?? nextSeq;
  await manager.streams.add({
    ...plain,
    subjects,
    deny_delete: false,
    deny_purge: false,
    first_seq: first,
  });
  const publish = connection.jetstream();
  for (let seq = first; seq < nextSeq; seq += 1) {
    const message = messages.find((each) => each.seq === seq);
    const { seq: got } = await publish.publish(
      message?.subject ?? `restore.${wanted.name}`,
      message?.text ?? "",
      { headers: headersOf(message?.headers ?? []) },
    );
    if (got !== seq) throw new Error(`${wanted.name}: ${got} is not ${seq}`);
    if (message === undefined) await manager.streams.deleteMessage(wanted.name, seq);
  }
  // A stream keeps the first sequence that it was made with.
  const update: Partial<StreamConfig> = { ...wanted, first_seq: first };
  await manager.streams.update(wanted.name, update);
}

/** Without the headers that would make the server refuse a repeat. */
function headersOf(named: readonly (readonly [string, readonly string[]])[]) {
  const made = headers();
  for (const [name, values] of named)
    if (!/^Nats-(?:Expected|Batch)/i.test(name))
      for (const value of values) made.append(name, value);
  return made;
}

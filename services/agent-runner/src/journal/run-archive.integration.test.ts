import assert from "node:assert/strict";
import { after, test } from "node:test";
import { connectionOf } from "@switchyard/bus/connection";
import { ensureStreams } from "@switchyard/bus/streams";
import { ServiceError } from "@switchyard/contracts/errors";
import { bucketStream, runArchive } from "@switchyard/topology/payload-stores";
import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import { testBus } from "@switchyard/testing/test-bus";
import { testNats, testRedis } from "@switchyard/testing/test-servers";
import { startedEntry } from "../../test-fixtures/journals.ts";
import { BLOB_BYTES } from "../core/entry-codec.ts";
import type { JournalEntry } from "../core/journal-entry.ts";
import { applyEntry, startOf } from "../core/replay.ts";
import { JournalCorrupt } from "../core/run-state.ts";
import { LARGE_BYTES, openLargeTexts } from "./large-texts.ts";
import { openRunArchive, type RunArchive } from "./run-archive.ts";
import { openRunControls } from "./run-controls.ts";
import { openRunIndex } from "./run-index.ts";
import { blobsKey, journalKey, keysOf, stateKey } from "./run-keys.ts";
import { openRunStore } from "./run-store.ts";

const AFTER_MS = 60_000;
const KEEP_SECONDS = 600;
const AT = "2026-01-01T00:00:02.000Z";

const nats = await testNats();
await ensureStreams(await testBus(nats, "admin"));
const bus = await testBus(nats, "runner");
const server = await testRedis();
const log = createLog({ service: "test", level: "silent" });
const redis = await connectRedis({ url: server.url, name: "test", log });
after(() => redis.disconnect());

let nowMs = Date.parse("2026-01-01T00:00:00.000Z");
const now = (): number => nowMs;
const counted = new Map<string, number>();
const storage = {
  reserve: async () => {},
  set: (_owner: string, thing: string, { bytes }: { readonly bytes: number }) =>
    void counted.set(thing, bytes),
};
const texts = openLargeTexts({ bus, redis, log }, { storage, now });
const options = { afterMs: AFTER_MS, keepSeconds: KEEP_SECONDS, storage, now };
const archive = openRunArchive({ bus, redis, log }, options);
const storeOptions = { holdMs: 60_000, keepSeconds: KEEP_SECONDS, texts, archive };
const store = openRunStore(redis, storeOptions);
const controls = openRunControls(redis, undefined, undefined, { texts, archive });
const index = openRunIndex(redis, store, { keepSeconds: KEEP_SECONDS, now });

let runs = 0;

test("the journal of an ended run is moved after its time, and is read as before [42]", async () => {
  const [first, second] = [await ended({ prompt: "ä".repeat(BLOB_BYTES) }), await ended()];
  const before = await store.load(first);
  assert.equal(await moveAt(AFTER_MS - 1), 0, "not yet");
  assert.equal(await moveAt(AFTER_MS), 2);
  for (const runId of [first, second]) {
    assert.equal(await redis.exists(journalKey(runId), blobsKey(runId)), 0);
    assert.ok((await redis.pttl(stateKey(runId))) > 0);
  }
  assert.deepEqual(await store.load(first), before);
  assert.equal((await index.get(second))?.status, "succeeded");
  const { runs: listed } = await index.list({ limit: 10, ids: [first, second] });
  assert.deepEqual(
    listed.map(({ status }) => status),
    ["succeeded", "succeeded"],
  );
  const [bytes, one] = await redis.hmget(stateKey(first), "bytes", "archive");
  assert.equal(counted.get(`run:${first}`), Number(bytes), "what the owner is counted for");
  assert.equal(await redis.hget(stateKey(second), "archive"), one, "one object for both");
  assert.equal(await moveAt(AFTER_MS), 0, "once");
});

test("a run that is retried gets its journal back, and is moved again after its next end", async () => {
  const runId = await ended(
    { prompt: "ä".repeat(BLOB_BYTES) },
    { kind: "failed", at: AT, failure },
  );
  const before = await store.load(runId);
  assert.equal(await moveAt(AFTER_MS), 1);
  const { hold, journal } = await retried(runId);
  assert.deepEqual(journal.slice(0, -1), before);
  assert.equal(await redis.pttl(journalKey(runId)), -1, "a run under way does not expire");
  assert.equal(await moveAt(AFTER_MS), 0);
  const state = journal.slice(1).reduce(applyEntry, startOf(journal[0] as never));
  const end: JournalEntry = { kind: "finished", at: AT, output: "at last" };
  await store.append(hold, [end], applyEntry(state, end), 0);
  assert.equal(await moveAt(AFTER_MS), 1);
  assert.deepEqual((await store.load(runId)).at(-1), end);
});

test("a run that is retried while its journal is moved keeps it in Redis", async () => {
  const runId = await ended({}, { kind: "failed", at: AT, failure });
  const slow = openRunArchive({ bus, redis: retrying(runId), log }, options);
  nowMs += 10 * AFTER_MS;
  assert.equal(await slow.move(), 0);
  assert.equal(await redis.hget(stateKey(runId), "archive"), null);
  assert.equal((await store.load(runId)).at(-1)?.kind, "retried");
});

test("a mover that dies after it stored the object leaves the journal in Redis, and the next one moves it", async () => {
  const runId = await ended();
  const before = await store.load(runId);
  const dying = openRunArchive({ bus, redis: failingAt("set"), log }, options);
  nowMs += 10 * AFTER_MS;
  assert.equal(await dying.move(), 0);
  assert.equal(await redis.exists(...keysOf(runId).slice(0, 2)), 2);
  const { moved, journal } = await movedAndRead(archive, runId);
  assert.deepEqual([moved, journal], [1, before]);
});

test("without its bucket a journal stays in Redis, and 0 moves nothing", async () => {
  const runId = await ended();
  const closed = await testBus(nats, "runner");
  const lonely = openRunArchive({ bus: closed, redis, log }, options);
  await closed.close();
  nowMs += 10 * AFTER_MS;
  assert.equal(await lonely.move(), 0);
  assert.equal(await redis.exists(journalKey(runId)), 1);
  const paused = openRunArchive({ bus, redis: failingAt("set"), log }, options);
  assert.equal(await paused.move(), 0);
  const before = await objectsInBucket();
  assert.equal(await paused.move(), 0);
  assert.equal(await objectsInBucket(), before, "no other attempt soon after one that failed");
  const off = openRunArchive({ bus, redis, log }, { ...options, afterMs: 0 });
  assert.equal(await off.move(), 0);
  assert.equal((await movedAndRead(archive, runId)).moved, 1);
  const blind = openRunStore(redis, { ...storeOptions, archive: lonely });
  await assert.rejects(blind.load(runId), ServiceError);
});

test("a large text stays in its own bucket, and is read with the archived journal", async () => {
  const prompt = "ä".repeat(LARGE_BYTES);
  const runId = await ended({ prompt });
  assert.equal(await moveAt(AFTER_MS), 1);
  assert.equal(await redis.hlen(blobsKey(runId)), 1, "the reference");
  const [first] = await store.load(runId);
  assert.ok(first?.kind === "started" && first.prompt === prompt);
});

test("more runs than one object has are moved without waiting for others, and expired ones are forgotten", async () => {
  const gone = await ended();
  await redis.del(...keysOf(gone));
  for (let count = 0; count < 200; count += 1) await ended();
  nowMs += AFTER_MS;
  assert.equal(await archive.move(), 199);
  assert.equal(await moveAt(AFTER_MS), 1);
  assert.equal(await redis.zcard("yard:runs:ended"), 0);
});

test("objects are stored again before the bucket deletes them, and forgotten with the last run", async () => {
  const runId = await ended();
  assert.equal(await moveAt(AFTER_MS), 1);
  const before = await store.load(runId);
  const id = (await redis.hget(stateKey(runId), "archive")) ?? "";
  const reference = `yard:runs:archive:${id}`;
  const stored = await redis.get(reference);
  nowMs += runArchive.ttlMs / 2;
  await archive.renew();
  assert.notEqual(await redis.get(reference), stored);
  assert.ok((await redis.ttl(reference)) > 0);
  assert.deepEqual(await store.load(runId), before);
  await redis.del(reference);
  nowMs += runArchive.ttlMs;
  await archive.renew();
  assert.equal(await redis.zscore("yard:runs:archived", id), null);
});

test("a journal that the archive has lost is corrupt, and its run cannot be retried", async () => {
  const runId = await ended({}, { kind: "failed", at: AT, failure });
  assert.equal(await moveAt(AFTER_MS), 1);
  await connectionOf(bus).nc.request(`$JS.API.STREAM.PURGE.${bucketStream(runArchive)}`);
  await assert.rejects(store.load(runId), JournalCorrupt);
  const retry = { runId, by: "team-a", at: AT, limits: {}, command: "c", streamSequence: 2 };
  assert.equal(await controls.retry(retry), "unknown");
});

const failure = { code: "model_error", message: "no answer" } as const;

/** Moves what ended so long ago, with the time for which few runs wait for others. */
async function moveAt(afterMs: number): Promise<number> {
  const endedMs = nowMs;
  nowMs = endedMs + afterMs + (afterMs < AFTER_MS ? 0 : AFTER_MS);
  const moved = await archive.move();
  if (afterMs < AFTER_MS) nowMs = endedMs;
  return moved;
}

async function objectsInBucket(): Promise<number> {
  const { nc } = connectionOf(await testBus(nats, "admin"));
  const answer = await nc.request(`$JS.API.STREAM.INFO.${bucketStream(runArchive)}`);
  return answer.json<{ state: { messages: number } }>().state.messages;
}

async function movedAndRead(mover: RunArchive, runId: string) {
  return { moved: await mover.move(), journal: await store.load(runId) };
}

async function ended(
  fields: Partial<Parameters<typeof startedEntry>[0]> = {},
  end: JournalEntry = { kind: "finished", at: AT, output: "done" },
): Promise<string> {
  runs += 1;
  const runId = `team-a~run-${runs}`;
  const started = startedEntry({ runId, requester: "team-a", ...fields });
  const claimed = await store.claim({ runId, commandDigest: "d", delivery: "1", started });
  assert.ok(claimed.outcome === "claimed");
  await store.append(claimed.hold, [end], applyEntry(startOf(started), end), 0);
  return runId;
}

async function retried(runId: string) {
  const retry = { runId, by: "team-a", at: AT, limits: {}, command: "c", streamSequence: 2 };
  assert.equal(await controls.retry(retry), "ok");
  const claimed = await store.claim({ runId, commandDigest: null, delivery: "2" });
  assert.ok(claimed.outcome === "claimed");
  return { hold: claimed.hold, journal: await store.load(runId) };
}

/** A client that fails at one command, as a process that dies there. */
function failingAt(command: "set"): typeof redis {
  return new Proxy(redis, {
    get(target, name) {
      if (name === command) return () => Promise.reject(new Error("the process died"));
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/** A client with which a run is retried right before its journal is deleted. */
function retrying(runId: string): typeof redis {
  return new Proxy(redis, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      if (name !== "yardRunArchive") return value.bind(target);
      return async (...args: unknown[]) => {
        await retried(runId);
        return value.apply(target, args);
      };
    },
  });
}

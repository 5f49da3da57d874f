import assert from "node:assert/strict";
import { test } from "node:test";
import { connectionOf } from "@switchyard/bus/connection";
import { bucketStream, runArchive } from "@switchyard/topology/payload-stores";
import { StoreError } from "@switchyard/service/store-error";
import { testBus } from "@switchyard/testing/test-bus";
import { replaceConstants } from "@switchyard/testing/test-constants";
import { AFTER_MS, AT, FAILED, openArchiveWorld } from "../../test-fixtures/archive-world.ts";
import { BLOB_BYTES } from "../core/entry-codec.ts";
import type { JournalEntry } from "../core/journal-entry.ts";
import { applyEntry, startOf } from "../core/replay.ts";
import { JournalCorrupt } from "../core/run-state.ts";
import { openArchiveObjects } from "./archive-objects.ts";
import { LARGE_BYTES } from "./large-texts.ts";
import { openRunArchive, type RunArchive } from "./run-archive.ts";
import { blobsKey, journalKey, keysOf, stateKey } from "./run-keys.ts";
import { openRunStore } from "./run-store.ts";

const world = await openArchiveWorld((bus) => openArchiveObjects(bus, null));
const { nats, bus, redis, log, clock, counted, options, archive, storeOptions } = world;
const { store, controls, index, moveAt, ended, retried } = world;

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
  const runId = await ended({ prompt: "ä".repeat(BLOB_BYTES) }, FAILED);
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
  const runId = await ended({}, FAILED);
  const slow = world.moverWith(async (command) => {
    if (command === "yardRunArchive") await retried(runId);
  });
  clock.nowMs += 10 * AFTER_MS;
  assert.equal(await slow.move(), 0);
  assert.equal(await redis.hget(stateKey(runId), "archive"), null);
  assert.equal((await store.load(runId)).at(-1)?.kind, "retried");
});

test("a mover that dies at any step leaves the journal in Redis, and the next one moves it", async () => {
  for (let step = 1; step <= STEPS.length; step += 1) {
    const runId = await ended();
    const before = await store.load(runId);
    const dying = mortal(step);
    clock.nowMs += 10 * AFTER_MS;
    assert.equal(await dying.mover.move(), 0);
    assert.deepEqual(dying.steps, STEPS.slice(0, step));
    assert.equal(await redis.exists(...keysOf(runId).slice(0, 2)), 2);
    const { moved, journal } = await movedAndRead(archive, runId);
    assert.deepEqual([moved, journal], [1, before]);
  }
});

test("a mover that was paused for too long deletes no journal", async () => {
  const runId = await ended();
  clock.nowMs += 10 * AFTER_MS;
  const restore = replaceConstants({ archiveMoveMs: -1_000 });
  const late = world.moverWith(async () => {});
  restore();
  assert.equal(await late.move(), 0);
  assert.equal(await redis.exists(journalKey(runId)), 1);
});

test("without its bucket a journal stays in Redis, and 0 moves nothing", async () => {
  const runId = await ended();
  const closed = await testBus(nats, "runner");
  const lonely = openRunArchive(
    { redis, log },
    { ...options, objects: openArchiveObjects(closed, null) },
  );
  await closed.close();
  clock.nowMs += 10 * AFTER_MS;
  assert.equal(await lonely.move(), 0);
  assert.equal(await redis.exists(journalKey(runId)), 1);
  const { mover: paused } = mortal(STEPS.indexOf("set") + 1);
  assert.equal(await paused.move(), 0);
  const before = await objectsInBucket();
  assert.equal(await paused.move(), 0);
  assert.equal(await objectsInBucket(), before, "no other attempt soon after one that failed");
  const off = openRunArchive({ redis, log }, { ...options, afterMs: 0 });
  assert.equal(await off.move(), 0);
  assert.equal((await movedAndRead(archive, runId)).moved, 1);
  const blind = openRunStore(redis, { ...storeOptions, archive: lonely });
  await assert.rejects(blind.load(runId), StoreError);
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
  clock.nowMs += AFTER_MS;
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
  clock.nowMs += runArchive.ttlMs / 2;
  await archive.renew();
  assert.notEqual(await redis.get(reference), stored);
  assert.ok((await redis.ttl(reference)) > 0);
  assert.deepEqual(await store.load(runId), before);
  await redis.del(reference);
  clock.nowMs += runArchive.ttlMs;
  await archive.renew();
  assert.equal(await redis.zscore("yard:runs:archived", id), null);
});

test("a journal that the archive has lost is corrupt, and its run cannot be retried", async () => {
  const runId = await ended({}, FAILED);
  assert.equal(await moveAt(AFTER_MS), 1);
  await connectionOf(bus).nc.request(`$JS.API.STREAM.PURGE.${bucketStream(runArchive)}`);
  await assert.rejects(store.load(runId), JournalCorrupt);
  const retry = { runId, by: "team-a", at: AT, limits: {}, command: "c", streamSequence: 2 };
  assert.equal(await controls.retry(retry), "unknown");
});

async function objectsInBucket(): Promise<number> {
  const { nc } = connectionOf(await testBus(nats, "admin"));
  const answer = await nc.request(`$JS.API.STREAM.INFO.${bucketStream(runArchive)}`);
  return answer.json<{ state: { messages: number } }>().state.messages;
}

async function movedAndRead(mover: RunArchive, runId: string) {
  return { moved: await mover.move(), journal: await store.load(runId) };
}

/** The commands of a move, in their order. */
const STEPS = ["time", "zadd", "set", "yardRunArchive"];

/** A mover whose process dies before a step, counted from 1; with the commands up to there. */
function mortal(step: number): { readonly mover: RunArchive; readonly steps: string[] } {
  const steps: string[] = [];
  const mover = world.moverWith(async (command) => {
    steps.push(command);
    if (steps.length >= step) throw new Error("the process died");
  });
  return { mover, steps };
}

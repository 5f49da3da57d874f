import assert from "node:assert/strict";
import { test } from "node:test";
import { connectionOf } from "@switchyard/bus/connection";
import { bucketStream, runArchive } from "@switchyard/topology/payload-stores";
import { canonicalDigest } from "@switchyard/contracts/canonical-json";
import { StoreError } from "@switchyard/service/store-error";
import { testBus } from "@switchyard/testing/test-bus";
import { replaceConstants } from "@switchyard/testing/test-constants";
import {
  AFTER_MS,
  AT,
  COMMAND_DIGEST,
  FAILED,
  KEEP_SECONDS,
  openArchiveWorld,
} from "../../test-fixtures/archive-world.ts";
import { FACTS } from "../core/due.ts";
import { BLOB_BYTES } from "../core/entry-codec.ts";
import type { JournalEntry } from "../core/journal-entry.ts";
import type { Columns } from "../core/packed-columns.ts";
import { applyEntry, startOf } from "../core/replay.ts";
import { JournalCorrupt } from "../core/run-state.ts";
import { openArchiveObjects } from "./archive-objects.ts";
import { LARGE_BYTES } from "./large-texts.ts";
import { openRunArchive, type RunArchive } from "./run-archive.ts";
import type { Hold } from "./run-claim.ts";
import { readColumns, readState, SHORT_DIGEST } from "./run-columns.ts";
import { openRunIndex, type RunFilter } from "./run-index.ts";
import { blobsKey, journalKey, keysOf, stateKey } from "./run-keys.ts";
import { openRunStore } from "./run-store.ts";

const world = await openArchiveWorld((bus) => openArchiveObjects(bus, null));
const { nats, bus, redis, log, clock, counted, options, archive, storeOptions } = world;
const { store, controls, index, moveAt, ended, retried } = world;

test("the journal of an ended run is moved after its time, and is read as before [42]", async () => {
  const [first, second] = [await ended({ prompt: "ä".repeat(BLOB_BYTES) }), await ended()];
  const before = await store.load(first);
  const [bytesBefore] = await readColumns(redis, second, ["bytes"]);
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
  const [bytes, one] = await readColumns(redis, first, ["bytes", "archive"]);
  assert.equal(counted.get(`run:${first}`), Number(bytes), "what the owner is counted for");
  const [bytesAfter] = await readColumns(redis, second, ["bytes"]);
  const used = await redis.memory("USAGE", stateKey(second));
  assert.ok(Number(bytesAfter) >= Number(used), `${bytesAfter} are counted for ${used}`);
  assert.ok(Number(bytesAfter) < Number(bytesBefore) / 2, `${bytesAfter} of ${bytesBefore}`);
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
  const end = await endNow(hold, journal);
  assert.equal(await moveAt(AFTER_MS), 1);
  assert.deepEqual((await store.load(runId)).at(-1), end);
});

test("runs that ended in every way are listed, counted and claimed alike before and after the move", async () => {
  const owner = "team-a";
  const runIds = await endedInEveryWay();
  const [retriedId = ""] = runIds;
  const states = await Promise.all(runIds.map((runId) => readState(redis, runId)));
  const before = await answersAbout(owner, runIds);
  assert.equal(before.dead.rows.length, 1);
  assert.equal(
    before.lists.every(({ runs }) => runs.length > 0),
    true,
  );

  assert.equal(await moveAt(AFTER_MS), runIds.length);
  for (const runId of runIds) {
    const columns = await redis.hkeys(stateKey(runId));
    assert.deepEqual(
      columns.filter((name) => !ARCHIVED_COLUMNS.has(name)),
      [],
    );
    assert.equal(await redis.object("ENCODING", stateKey(runId)), "listpack", runId);
  }
  // Compared as texts: also the order of what is in them is the same.
  assert.equal(JSON.stringify(await answersAbout(owner, runIds)), JSON.stringify(before));

  for (const [at, runId] of runIds.entries()) {
    if (states[at]?.["status"] === "succeeded") continue;
    await archive.restore(runId);
    const { digest, bytes: _restored, ...restored } = await readState(redis, runId);
    const { digest: whole = "", bytes: _bytes, ...wanted } = withoutOpenColumns(states[at]);
    assert.deepEqual(restored, wanted);
    assert.equal(digest, whole.slice(-SHORT_DIGEST));
  }
  const { hold } = await retried(retriedId);
  assert.deepEqual(await readColumns(redis, retriedId, ["status", "attempts", "control:c"]), [
    "running",
    "2",
    "1",
  ]);
  assert.equal(hold.epoch, "2");
});

test("a run that an earlier version archived, without packing it, is read and retried", async () => {
  const runId = await ended({ prompt: "ä".repeat(BLOB_BYTES) }, FAILED);
  const before = await readState(redis, runId);
  const journal = await store.load(runId);
  const answers = await answersAbout("team-a", [runId]);
  assert.equal(await moveAt(AFTER_MS), 1);
  const { archive: id = "" } = await readState(redis, runId);
  const ttl = await redis.pttl(stateKey(runId));
  await redis.del(stateKey(runId));
  await redis.hset(stateKey(runId), { ...withoutOpenColumns(before), bytes: 3_000, archive: id });
  await redis.pexpire(stateKey(runId), ttl);
  assert.deepEqual(await answersAbout("team-a", [runId]), answers);
  assert.deepEqual((await retried(runId)).journal.slice(0, -1), journal);
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

test("a run that is retried and ends again while its journal is moved keeps its newer columns", async () => {
  const runId = await ended({}, FAILED);
  let isRead = false;
  const endBetween = async (): Promise<void> => {
    if (isRead) return;
    isRead = true;
    const { hold, journal } = await retried(runId);
    await endNow(hold, journal);
  };
  // The columns are read before the journal.
  const slow = world.moverWith(endBetween, options.objects, ["lrange"]);
  clock.nowMs += 10 * AFTER_MS;
  assert.equal(await slow.move(), 0);
  assert.deepEqual(await readColumns(redis, runId, ["status", "archive"]), ["succeeded", null]);
});

test("a process that dies while it puts a run back leaves it in the archive or in Redis", async () => {
  for (const step of ["zadd", "yardRunRestore"]) {
    const runId = await ended({}, FAILED);
    const [before, state] = [await store.load(runId), await readState(redis, runId)];
    assert.equal(await moveAt(AFTER_MS), 1);
    const dying = world.moverWith(async (command) => {
      if (command === step) throw new Error("the process died");
    });
    await assert.rejects(dying.restore(runId), /the process died/);
    assert.deepEqual(await store.load(runId), before);
    await archive.restore(runId);
    await archive.restore(runId);
    assert.deepEqual(await store.load(runId), before);
    const { createdAt, usage } = await readState(redis, runId);
    assert.deepEqual(
      { createdAt, usage },
      { createdAt: state["createdAt"], usage: state["usage"] },
    );
  }
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

/** Runs that ended in each of the ways: the first failed, the last succeeded after a retry. */
async function endedInEveryWay(): Promise<string[]> {
  const failure = { code: "model_error", message: `no answer: ${"…".repeat(200)}` };
  const parent = { runId: "team-a~parent", callId: "team-a~parent:1:0" };
  const runIds = [
    await ended({ input: "Zahl die Rechnung 7", labels: { team: "a", 10: "x" } }, FAILED),
    await ended({ parent, model: "x/y", input: " \n" }),
    await ended({ input: "请检查发票 ".repeat(100) }, { kind: "dead", at: AT, failure }),
    await ended({ input: "a\n b", agent: "other" }, ...CANCELLED),
    await ended({}, FAILED),
  ];
  const [first = "", , dead = "", , again = ""] = runIds;
  const { hold, journal } = await retried(again);
  await endNow(hold, journal);
  await redis.hset(stateKey(first), { costUsd: "null", "open:c1": 1, wakeSeq: 3 });
  await index.addDead(dead, AT);
  for (const runId of runIds) await index.add(runId, AT);
  return runIds;
}

const CANCELLED: readonly JournalEntry[] = [
  { kind: "cancel-requested", at: AT, by: "team-a", reason: "not needed" },
  { kind: "cancelled", at: AT },
];

async function endNow(hold: Hold, journal: readonly JournalEntry[]): Promise<JournalEntry> {
  const state = journal.slice(1).reduce(applyEntry, startOf(journal[0] as never));
  const end: JournalEntry = { kind: "finished", at: AT, output: "at last" };
  await store.append(hold, [end], applyEntry(state, end), 0);
  return end;
}

/** Returns what readers get about runs from a replica without a cache. */
async function answersAbout(owner: string, ids: readonly string[]) {
  const fresh = openRunIndex(redis, store, { keepSeconds: KEEP_SECONDS, now: () => clock.nowMs });
  const filters: Partial<RunFilter>[] = [
    {},
    { ids },
    ...(["newest", "oldest", "longest", "dearest"] as const).map((sort) => ({ sort })),
  ];
  const range = { fromMs: 0, toMs: Date.parse("2027-01-01") };
  return {
    runs: await Promise.all(ids.map((runId) => fresh.get(runId))),
    lists: await Promise.all(filters.map((filter) => fresh.list({ limit: 100, owner, ...filter }))),
    filtered: await Promise.all(
      FILTERS.map((filter) => fresh.list({ limit: 100, owner, ...filter })),
    ),
    totals: await fresh.totals({ owner, ...range }),
    dead: await fresh.dead(null, owner),
    parked: await Promise.all(ids.map((runId) => readColumns(redis, runId, FACTS.slice(-2)))),
    claims: await Promise.all(
      ids.flatMap((runId) => [
        store.claim({ runId, commandDigest: COMMAND_DIGEST, delivery: "9" }),
        store.claim({ runId, commandDigest: OTHER_DIGEST, delivery: "9" }),
      ]),
    ),
  };
}

const OTHER_DIGEST = canonicalDigest("another command");

const FILTERS: readonly Partial<RunFilter>[] = [
  { agent: "other" },
  { model: "x/y" },
  { status: "cancelled" },
  { statuses: ["failed", "dead"] },
  { errorCode: "model_error" },
  { labels: ["team=a", "10"] },
  { text: "rechnung" },
  { text: "发票" },
  { from: AT, to: AT },
];

/** A state without the columns that only runs under way need. */
function withoutOpenColumns(state: Columns = {}): Record<string, string> {
  const { holder: _h, delivery: _d, heldUntil: _u, stalled: _s, rests: _r, ...left } = state;
  return left;
}

const ARCHIVED_COLUMNS = new Set([
  "status",
  "requester",
  "parent",
  "digest",
  "epoch",
  "published",
  "archive",
  "packed",
  "control:c",
]);

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

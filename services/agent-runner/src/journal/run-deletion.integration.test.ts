import assert from "node:assert/strict";
import { test } from "node:test";
import { connectionOf } from "@switchyard/bus/connection";
import { STREAM_NAMES } from "@switchyard/contracts/stream-names";
import { bucketStream, inputFiles } from "@switchyard/topology/payload-stores";
import { testBus } from "@switchyard/testing/test-bus";
import { AFTER_MS, FAILED, openArchiveWorld } from "../../test-fixtures/archive-world.ts";
import { startedEntry } from "../../test-fixtures/journals.ts";
import { openArchiveObjects } from "./archive-objects.ts";
import { LARGE_BYTES } from "./large-texts.ts";
import { deletedKey, keysOf, stateKey } from "./run-keys.ts";

const world = await openArchiveWorld((bus) => openArchiveObjects(bus, null));
const { nats, bus, redis, clock, counted, archive } = world;
const { store, index, deletion, moveAt, ended, retried } = world;
const { nc } = connectionOf(await testBus(nats, "admin"));
const LATER_MS = 600_001;

test("a deleted run is gone at once, and its command does not start it again", async () => {
  const runId = await ended({ prompt: "ä".repeat(LARGE_BYTES) });
  await index.add(runId, new Date(clock.nowMs).toISOString());
  await event(runId);
  assert.equal(await messages(bucketStream(inputFiles)), 2);
  assert.deepEqual(await deletion.delete(runId, "team-a"), { outcome: "deleted" });
  assert.deepEqual(await store.load(runId), []);
  assert.equal(await index.get(runId), null);
  assert.deepEqual((await index.list({ limit: 10 })).runs, []);
  assert.equal(counted.get(`run:${runId}`), 0);
  const started = startedEntry({ runId, requester: "team-a" });
  for (const more of [{}, { started }]) {
    const claim = { runId, commandDigest: "d", delivery: "3", ...more };
    assert.deepEqual(await store.claim(claim), { outcome: "deleted" });
  }
  await deletion.erase();
  assert.equal(await messages(bucketStream(inputFiles)), 0, "its large text");
  assert.equal(await eventsOf(runId), 0);
  assert.deepEqual(await redis.hgetall(deletedKey(runId)), { requester: "team-a" });
  assert.ok((await redis.pttl(deletedKey(runId))) > 0);
  // A runner that had not published all events does it after the deletion.
  await event(runId);
  clock.nowMs += LATER_MS;
  await deletion.erase();
  assert.equal(await eventsOf(runId), 0);
  assert.equal(await redis.zcard("yard:runs:deleted"), 0);
  assert.deepEqual(await deletion.delete(runId, "team-a"), { outcome: "absent" });
});

test("a run that has not ended, or works for one that has not, is not deleted, nor that of another owner", async () => {
  const parent = await ended();
  const child = await ended({ parent: { runId: parent, callId: "c" } });
  await redis.hset(stateKey(parent), "status", "waiting");
  const waiting = { outcome: "not_ended", status: "waiting" };
  assert.deepEqual(await deletion.delete(parent, "team-a"), waiting);
  assert.deepEqual(await deletion.delete(child, "team-a"), waiting);
  await redis.hset(stateKey(parent), "status", "failed");
  assert.deepEqual(await deletion.delete(parent, "team-b"), { outcome: "absent" });
  assert.equal((await store.load(parent)).length, 2);
  assert.deepEqual(await deletion.delete(child, "cli"), { outcome: "deleted" });
  await redis.del(...keysOf(parent));
  assert.deepEqual(await deletion.delete("team-a~never", "team-a"), { outcome: "absent" });
});

test("runs of one archived object leave it together, and the others stay readable", async () => {
  const [first, second, third] = [await ended(), await ended(), await ended()];
  await moveAt(AFTER_MS);
  const before = await store.load(third);
  const id = await redis.hget(stateKey(third), "archive");
  const reference = await redis.get(`yard:runs:archive:${id}`);
  for (const runId of [first, second]) await deletion.delete(runId, "team-a");
  await deletion.erase();
  assert.notEqual(await redis.get(`yard:runs:archive:${id}`), reference);
  assert.deepEqual(await store.load(third), before);
  assert.equal(await archive.read(first), null);
  await redis.hset(stateKey(first), "archive", id ?? "");
  await assert.rejects(store.load(first), /has lost the journal/);
  await redis.del(stateKey(first));
  await deletion.delete(third, "team-a");
  await deletion.erase();
  assert.equal(await redis.get(`yard:runs:archive:${id}`), null, "nothing is left of the object");
});

test("a journal that a retry took out of the archive leaves its object", async () => {
  const runId = await ended({}, FAILED);
  const other = await ended();
  await moveAt(AFTER_MS);
  const id = (await redis.hget(stateKey(other), "archive")) ?? "";
  await retried(runId);
  const reference = await redis.get(`yard:runs:archive:${id}`);
  clock.nowMs += 2 * 3_600_000;
  await archive.renew();
  assert.notEqual(await redis.get(`yard:runs:archive:${id}`), reference);
  assert.equal((await store.load(other)).length, 2);
});

test("a process that dies at any step of a deletion leaves a state from which the sweeper or a repeat finishes", async () => {
  let steps = 0;
  for (let step = 1; step === 1 || steps === step - 1; step += 1) {
    const [runId, other] = [await ended(), await ended()];
    await event(runId);
    await moveAt(AFTER_MS);
    const before = await store.load(other);
    const id = await redis.hget(stateKey(other), "archive");
    steps = 0;
    let isDead = false;
    const mortal = world.deletionBy(async () => {
      if (!isDead) steps += 1;
      isDead ||= steps >= step;
      if (isDead) throw new Error("the process died");
    });
    await mortal.delete(runId, "team-a").catch(() => {});
    await mortal.erase().catch(() => {});
    assert.deepEqual(await store.load(other), before, `step ${step}`);
    await deletion.delete(runId, "team-a");
    clock.nowMs += LATER_MS;
    await deletion.erase();
    assert.deepEqual(await store.load(runId), []);
    assert.equal(await eventsOf(runId), 0);
    assert.deepEqual(await store.load(other), before, `step ${step}`);
    // A reference to the object shows that the journal is not in it.
    await redis.hset(stateKey(runId), "archive", id ?? "");
    await assert.rejects(store.load(runId), /has lost the journal/);
    await redis.del(stateKey(runId));
    clock.nowMs += 2 * 3_600_000;
    await archive.renew();
    assert.deepEqual(await store.load(other), before, `step ${step}`);
    await redis.del(...keysOf(other));
    if (!isDead) break;
  }
  assert.ok(steps > 8, `${steps} steps`);
});

test("the runs of an owner are listed by age, without those of others and those that came later", async () => {
  await redis.del("yard:runs:of:team-a");
  const runs = [await ended(), await ended(), await ended()];
  for (const [day, runId] of runs.entries())
    await index.add(runId, `2026-02-0${day + 1}T00:00:00Z`);
  const wanted = { owner: "team-a", before: "2026-02-03T00:00:00Z", limit: 1 };
  const first = await deletion.owned({ ...wanted, cursor: null });
  assert.deepEqual(first.rows, [{ runId: runs[0], hasEnded: true }]);
  await deletion.delete(runs[0] ?? "", "team-a");
  const second = await deletion.owned({ ...wanted, limit: 5, cursor: first.next });
  assert.deepEqual(second, { rows: [{ runId: runs[1], hasEnded: true }], next: null });
  const none = await deletion.owned({ ...wanted, owner: "team-b", cursor: null });
  assert.deepEqual(none, { rows: [], next: null });
});

function subjectsOf(runId: string): string {
  return `yard.evt.run.${runId.replace("~", ".")}`;
}

async function event(runId: string): Promise<void> {
  const subject = `${subjectsOf(runId)}.started`;
  const answer = await connectionOf(bus).nc.request(subject, "{}");
  assert.ok(answer.json<{ seq?: number }>().seq, answer.string());
}

async function eventsOf(runId: string): Promise<number> {
  const filter = JSON.stringify({ subjects_filter: `${subjectsOf(runId)}.>` });
  const answer = await nc.request(`$JS.API.STREAM.INFO.${STREAM_NAMES.events}`, filter);
  const { state } = answer.json<{ state: { subjects?: Record<string, number> } }>();
  return Object.values(state.subjects ?? {}).reduce((sum, one) => sum + one, 0);
}

async function messages(stream: string): Promise<number> {
  const answer = await nc.request(`$JS.API.STREAM.INFO.${stream}`);
  return answer.json<{ state: { messages: number } }>().state.messages;
}

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { ServiceError } from "@switchyard/contracts/errors";
import { builtinToolRef } from "@switchyard/contracts/tool-names";
import { testRedis } from "@switchyard/testing/test-servers";
import { StoreError } from "@switchyard/service/store-error";
import { Redis } from "ioredis";
import { createCallStore, type CallOutcome, type Claim } from "./call-store.ts";

const { url } = await testRedis();
const redis = new Redis(url);
after(() => redis.disconnect());
const [here, there] = ["here", "there"].map((holder) => createCallStore(redis, holder)) as [
  ReturnType<typeof createCallStore>, // as many as names
  ReturnType<typeof createCallStore>,
];

const kept = { fingerprint: "f", ref: builtinToolRef("read_file") };
const owner = { caller: "runner", token: "a-token" };
const call = { ...kept, ...owner };
const outcome: CallOutcome = { kind: "failed", reason: "no such file" };
const DAY_SECONDS = 24 * 3_600;

async function claimed(callId: string): Promise<Claim> {
  const claim = await here.claim(callId, call);
  return claim.state === "new" ? claim : assert.fail(`it is ${claim.state}`);
}

/** True for an expiry of a day, less the time that the test takes. */
async function isKeptForADay(callId: string): Promise<boolean> {
  const seconds = await redis.ttl(`yard:call:{${callId}}`);
  return seconds > DAY_SECONDS - 600 && seconds <= DAY_SECONDS;
}

test("of two that claim an id one gets it, and the other learns who has it", async () => {
  const [one, two] = await Promise.all([here.claim("a", call), there.claim("a", call)]);
  assert.deepEqual([one.state, two.state].toSorted(), ["claimed", "new"]);
  const record = one.state === "claimed" ? one : two;
  assert.ok(record.state === "claimed");
  assert.equal(record.holder, record === one ? "there" : "here");
  assert.equal(record.fingerprint, "f");
});

test("claim and outcome are kept for a day", async () => {
  const claim = await claimed("b");
  assert.ok(await isKeptForADay("b"));
  await claim.finish(outcome);
  assert.ok(await isKeptForADay("b"));
  assert.deepEqual(await there.read("b"), { state: "done", outcome, ...kept });
});

test("a released id is free, and a later claim of it stays", async () => {
  const claim = await claimed("c");
  await claim.release();
  assert.equal(await here.read("c"), null);
  assert.equal((await there.claim("c", call)).state, "new");
  await claim.release();
  const record = await here.read("c");
  assert.equal(record?.state === "claimed" && record.holder, "there");
});

test("without Redis there is no answer to take for one", async () => {
  const gone = new Redis(url, { lazyConnect: true, enableOfflineQueue: false });
  gone.disconnect();
  const store = createCallStore(gone, "here");
  await assert.rejects(store.read("d"), StoreError);
  await assert.rejects(store.claim("d", call), StoreError);
});

/** A connection that executes its commands, and loses the answers while `isLosing`. */
function losing(): { readonly connection: Redis; isLosing: boolean } {
  const lost = { connection: Object.create(redis) as Redis, isLosing: true };
  for (const command of ["set", "eval"] as const) {
    const carriedOut = redis[command].bind(redis) as (...words: unknown[]) => Promise<unknown>;
    Object.assign(lost.connection, {
      async [command](...words: unknown[]) {
        const answer = await carriedOut(...words);
        if (lost.isLosing) throw new Error("Connection is closed.");
        return answer;
      },
    });
  }
  return lost;
}

test("a claim whose answer was lost is not taken for a call that was made", async () => {
  const lost = losing();
  const store = createCallStore(lost.connection, "here");
  await assert.rejects(store.claim("e", call), StoreError);
  assert.equal((await there.read("e"))?.state, "claimed", "Redis has it all the same");
  await assert.rejects(store.claim("e", call), StoreError);
  lost.isLosing = false;
  assert.equal((await store.claim("e", call)).state, "new");
});

test("a claim whose answer was lost frees its id for other processes too", async () => {
  const lost = losing();
  const store = createCallStore(lost.connection, "here");
  await assert.rejects(store.claim("f", call), StoreError);
  lost.isLosing = false;
  await until("the id is free", async () => (await there.read("f")) === null);
});

test("an outcome that Redis did not store is returned from this process meanwhile, and stored when Redis is back", async () => {
  const away = Object.create(redis) as Redis;
  let isAway = false;
  Object.assign(away, {
    eval: (...words: Parameters<Redis["eval"]>) =>
      isAway ? Promise.reject(new Error("Connection is closed.")) : redis.eval(...words),
  });
  const store = createCallStore(away, "here");
  const own = await store.claim("h", call);
  assert.ok(own.state === "new");
  isAway = true;
  await assert.rejects(own.finish(outcome), StoreError);
  const done = { state: "done", outcome, ...kept };
  assert.deepEqual([await store.read("h"), await store.claim("h", call)], [done, done]);
  assert.equal((await there.read("h"))?.state, "claimed");
  isAway = false;
  await until("Redis has the outcome", async () => (await there.read("h"))?.state === "done");
});

test("a call that its owner cancelled before it was claimed is not made, and no other caller can forbid it", async () => {
  assert.equal(await there.forbid("i", { ...owner, caller: "somebody" }), null);
  await there.forbid("i", owner);
  assert.equal((await here.claim("i", call)).state, "cancelled");
  await there.forbid("j", { ...owner, caller: "somebody" });
  await there.forbid("k", { ...owner, token: "another" });
  assert.equal((await here.claim("j", call)).state, "new");
  assert.equal((await here.claim("k", call)).state, "new");
  assert.equal((await there.claim("k", call)).state, "claimed");
  // Once it is claimed, its holder is returned, and the record stays.
  assert.equal((await there.forbid("j", owner))?.state, "claimed");
  assert.equal((await here.read("j"))?.state, "claimed");
});

test("a call without room for its outcome is not made, and the outcome of an earlier one is given all the same", async () => {
  const added: [string, number][] = [];
  let isFull = false;
  const store = createCallStore(redis, "here", {
    add: (of, bytes) => void added.push([of, bytes]),
    admit: () =>
      isFull ? Promise.reject(new ServiceError("storage_full", "no room")) : Promise.resolve(),
  });
  const stored = { ...call, storedFor: "team-a" };
  const claim = await store.claim("full", stored);
  assert.ok(claim.state === "new");
  await claim.finish({ kind: "failed", reason: "x".repeat(5_000) });
  const [[of, bytes] = assert.fail("nothing was counted")] = added;
  assert.ok(of === "team-a" && bytes >= 5_000);
  isFull = true;
  assert.equal((await store.claim("full", stored)).state, "done");
  await assert.rejects(store.claim("other", stored), { code: "storage_full" });
  assert.equal(await there.read("other"), null);
});

async function until(what: string, condition: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + 30_000;
  while (!(await condition())) {
    assert.ok(performance.now() < end, `not within 30 s: ${what}`);
    await delay(20);
  }
}

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { builtinToolRef } from "@switchyard/contracts/tool-names";
import { testRedis } from "@switchyard/local-servers/test-servers";
import { Redis } from "ioredis";
import { CallStoreError, createCallStore, type CallOutcome, type Claim } from "./call-store.ts";

const { url } = await testRedis();
const redis = new Redis(url);
after(() => redis.disconnect());
const [here, there] = ["here", "there"].map((holder) => createCallStore(redis, holder)) as [
  ReturnType<typeof createCallStore>, // as many as names
  ReturnType<typeof createCallStore>,
];

const call = { fingerprint: "f", ref: builtinToolRef("read_file") };
const outcome: CallOutcome = { kind: "failed", reason: "no such file" };
const DAY_SECONDS = 24 * 3_600;

async function claimed(callId: string): Promise<Claim> {
  const claim = await here.claim(callId, call);
  return claim.state === "new" ? claim : assert.fail(`it is ${claim.state}`);
}

/** A day, but for the time that the test takes. */
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
  assert.deepEqual(await there.read("b"), { state: "done", outcome, ...call });
});

test("a released id is free, and whoever has it by then keeps it", async () => {
  const claim = await claimed("c");
  await claim.release();
  assert.equal(await here.read("c"), null);
  assert.equal((await there.claim("c", call)).state, "new");
  await claim.release();
  const kept = await here.read("c");
  assert.equal(kept?.state === "claimed" && kept.holder, "there");
});

test("without Redis there is no answer to take for one", async () => {
  const gone = new Redis(url, { lazyConnect: true, enableOfflineQueue: false });
  gone.disconnect();
  const store = createCallStore(gone, "here");
  await assert.rejects(store.read("d"), CallStoreError);
  await assert.rejects(store.claim("d", call), CallStoreError);
});

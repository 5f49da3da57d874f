import assert from "node:assert/strict";
import { after, test } from "node:test";
import { builtinToolRef } from "@switchyard/contracts/tool-names";
import { testRedis } from "@switchyard/testing/test-servers";
import { Redis } from "ioredis";
import { createCallStore, type CallIdentity } from "./call-store.ts";

const redis = new Redis((await testRedis()).url);
after(() => redis.disconnect());
const store = createCallStore(redis, "holder");
const call: CallIdentity = {
  fingerprint: "f",
  ref: builtinToolRef("read_file"),
  caller: "runner",
  token: undefined,
};
const admit = (runId: string, epoch: number) => store.admit({ runId, epoch });

async function writes(): Promise<number> {
  const stats = await redis.info("commandstats");
  return Number(/cmdstat_set:calls=(\d+)/.exec(stats)?.[1] ?? 0);
}

test("calls of an older epoch are refused for good, and an epoch is written once", async () => {
  assert.equal(await admit("r1", 0), true);
  assert.equal(await admit("r1", 2), true);
  assert.equal(await admit("r1", 1), false);
  assert.equal(await writes(), 2);
  for (const _ of [1, 2, 3]) assert.equal(await admit("r1", 2), true);
  assert.equal(await writes(), 2);
  assert.equal(await admit("r1", 3), true);
  assert.equal(await admit("r1", 2), false);
  assert.equal(await admit("r2", 1), true);
});

test("a claim looks at the epoch in the same step: with an older one nothing is claimed", async () => {
  const claim = (callId: string, epoch: number) =>
    store.claim(callId, call, { runId: "r5", epoch });
  assert.equal((await claim("r5:1", 2)).state, "new");
  assert.equal((await claim("r5:2", 1)).state, "stale");
  assert.equal(await store.read("r5:2"), null, "the id is free");
  assert.equal((await claim("r5:1", 1)).state, "stale", "also for an id that has a record");
  assert.equal((await claim("r5:1", 3)).state, "claimed");
  assert.equal(await admit("r5", 2), false, "the claim raised the epoch");
});

test("what is about to be forgotten is written again", async () => {
  const key = "yard:run:{r3}:tool-epoch";
  assert.equal(await admit("r3", 1), true);
  const wholeTime = await redis.ttl(key);
  await redis.expire(key, Math.floor(wholeTime / 3));
  assert.equal(await admit("r3", 1), true);
  assert.ok((await redis.ttl(key)) > wholeTime / 2);
});

test("a run's epoch is forgotten within the shortest time that a run is kept, so its id can be used again", async () => {
  assert.equal(await admit("r4", 7), true);
  assert.ok((await redis.ttl("yard:run:{r4}:tool-epoch")) <= 24 * 3_600);
});

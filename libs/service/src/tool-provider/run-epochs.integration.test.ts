import assert from "node:assert/strict";
import { after, test } from "node:test";
import { testRedis } from "@switchyard/local-servers/test-servers";
import { Redis } from "ioredis";
import { createRunEpochs } from "./run-epochs.ts";

const redis = new Redis((await testRedis()).url);
after(() => redis.disconnect());
const epochs = createRunEpochs(redis);

async function writes(): Promise<number> {
  const stats = await redis.info("commandstats");
  return Number(/cmdstat_set:calls=(\d+)/.exec(stats)?.[1] ?? 0);
}

test("calls of an older epoch are refused for good, and an epoch is written once", async () => {
  assert.equal(await epochs.admit("r1", 0), true);
  assert.equal(await epochs.admit("r1", 2), true);
  assert.equal(await epochs.admit("r1", 1), false);
  assert.equal(await writes(), 2);
  for (const _ of [1, 2, 3]) assert.equal(await epochs.admit("r1", 2), true);
  assert.equal(await writes(), 2);
  assert.equal(await epochs.admit("r1", 3), true);
  assert.equal(await epochs.admit("r1", 2), false);
  assert.equal(await epochs.admit("r2", 1), true);
});

test("what is about to be forgotten is written again", async () => {
  const key = "yard:run:{r3}:tool-epoch";
  assert.equal(await epochs.admit("r3", 1), true);
  const wholeTime = await redis.ttl(key);
  await redis.expire(key, Math.floor(wholeTime / 3));
  assert.equal(await epochs.admit("r3", 1), true);
  assert.ok((await redis.ttl(key)) > wholeTime / 2);
});

test("a run's epoch is forgotten within the shortest time that a run is kept, so its id can be used again", async () => {
  assert.equal(await epochs.admit("r4", 7), true);
  assert.ok((await redis.ttl("yard:run:{r4}:tool-epoch")) <= 24 * 3_600);
});

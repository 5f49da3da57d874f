import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import { testRedis } from "@switchyard/testing/test-servers";
import { CacheLeases } from "./cache-leases.ts";

const server = await testRedis();
const log = createLog({ service: "test", level: "silent" });
const redis = await connectRedis({ url: server.url, name: "test", log });
after(() => redis.disconnect());
beforeEach(async () => {
  waits.length = 0;
  await redis.flushdb();
});

// Two importers that share a Redis.
const waits: number[] = [];
const wait = async (ms: number): Promise<void> => void waits.push(ms);
const one = new CacheLeases(redis, { now: () => 0, wait });
const other = new CacheLeases(redis);

test("a change of one importer waits until the leases granted by another have ended", async () => {
  const keepForMs = await other.grant();
  assert.equal(keepForMs, 500);
  assert.deepEqual(waits, []);
  await one.change(async () => {
    assert.equal(waits.length, 1);
    assert.ok((waits[0] ?? 0) > 500);
  });
});

test("a change without leases before it does not wait", async () => {
  await one.change(async () => undefined);
  assert.deepEqual(waits, []);
});

test("no importer grants a lease from before a change until well after it", async () => {
  await one.change(async () => {
    assert.equal(await one.grant(), null);
    assert.equal(await other.grant(), null);
  });
  assert.equal(await other.grant(), null);
  await redis.del("yard:{catalogue}:changing"); // as its time does
  assert.equal(await other.grant(), 500);
});

test("a change that was held up for longer than its mark lasts marks again first", async () => {
  const clock = { now: 0, reads: 0 };
  const now = (): number => {
    clock.reads += 1;
    // The process is suspended between the first mark and the change.
    clock.now += clock.reads === 2 ? 60_000 : 1;
    return clock.now;
  };
  const slow = new CacheLeases(redis, { now, wait });
  assert.equal(await slow.change(async () => clock.reads), 4);
});

test("the result of a change and its failure reach its caller", async () => {
  assert.equal(await one.change(async () => 1), 1);
  await assert.rejects(
    one.change(async () => {
      throw new Error("no room");
    }),
    /no room/,
  );
});

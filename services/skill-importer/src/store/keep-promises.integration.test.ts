import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import { testRedis } from "@switchyard/local-servers/test-servers";
import { KeepPromises } from "./keep-promises.ts";

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
const one = new KeepPromises(redis, { now: () => 0, wait });
const other = new KeepPromises(redis);

test("a change of one importer waits for longer than what another has promised", async () => {
  const keepForMs = await other.promise();
  assert.equal(keepForMs, 500);
  assert.deepEqual(waits, []);
  await one.change(async () => {
    assert.equal(waits.length, 1);
    assert.ok((waits[0] ?? 0) > 500);
  });
});

test("a change that nobody was promised anything before does not wait", async () => {
  await one.change(async () => undefined);
  assert.deepEqual(waits, []);
});

test("nothing is promised from before a change until well after it, by no importer", async () => {
  await one.change(async () => {
    assert.equal(await one.promise(), null);
    assert.equal(await other.promise(), null);
  });
  assert.equal(await other.promise(), null);
  await redis.del("yard:{catalogue}:changing"); // as its time does
  assert.equal(await other.promise(), 500);
});

test("a change that was held up for longer than its mark lasts marks again first", async () => {
  const clock = { now: 0, reads: 0 };
  const now = (): number => {
    clock.reads += 1;
    // The process stands still between the first mark and the change.
    clock.now += clock.reads === 2 ? 60_000 : 1;
    return clock.now;
  };
  const slow = new KeepPromises(redis, { now, wait });
  assert.equal(await slow.change(async () => clock.reads), 4);
});

test("what the change answers and how it fails is its caller's", async () => {
  assert.equal(await one.change(async () => 1), 1);
  await assert.rejects(
    one.change(async () => {
      throw new Error("no room");
    }),
    /no room/,
  );
});

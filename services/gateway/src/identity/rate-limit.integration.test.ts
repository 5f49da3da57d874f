import assert from "node:assert/strict";
import { after, test } from "node:test";
import { testRedis } from "@switchyard/testing/test-servers";
import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import { problemOf } from "../problems/problem.ts";
import { createRateLimit, type RateLimit } from "./rate-limit.ts";
import { createRecentRecords } from "./recent-records.ts";

const { url } = await testRedis();
const log = createLog({ service: "gateway", level: "fatal" });
const redis = await connectRedis({ url, name: "test", log });
after(() => redis.disconnect());

/** Sends requests at once and returns how many of them pass. */
async function passing(limits: readonly RateLimit[], requests: number, limit: number) {
  const taken = await Promise.all(
    Array.from({ length: requests }, (_, n) =>
      (limits[n % limits.length] ?? assert.fail()).take("ann", limit),
    ),
  );
  return taken.filter(({ isOver }) => !isOver).length;
}

async function counted(): Promise<number> {
  const [, calls = "0"] = /cmdstat_eval:calls=(\d+)/.exec(await redis.info("commandstats")) ?? [];
  return Number(calls);
}

test("replicas let never more pass than the limit together, and ask Redis for a share of it at once", async () => {
  await redis.flushall();
  const replicas = Array.from({ length: 3 }, () => createRateLimit(redis, Date.now));
  const before = await counted();
  assert.equal(await passing(replicas, 3_000, 1_000), 1_000);
  assert.ok((await counted()) - before <= 110, "Redis was called for single requests");
  assert.equal(await passing(replicas, 30, 1_000), 0);
});

test("a small limit is counted one by one, and the answer states how many requests are left and when to retry", async () => {
  await redis.flushall();
  let now = Date.now();
  const limit = createRateLimit(redis, () => now);
  const left: unknown[] = [];
  for (let n = 0; n < 4; n += 1) {
    const { isOver, headers } = await limit.take("ann", 3);
    left.push([isOver, headers["ratelimit-remaining"]]);
    assert.equal(headers["retry-after"] === undefined, !isOver);
    assert.ok(Number(headers["ratelimit-reset"]) > 0);
  }
  assert.deepEqual(left, [
    [false, "2"],
    [false, "1"],
    [false, "0"],
    [true, "0"],
  ]);
  assert.equal((await limit.take("bob", 3)).isOver, false);
  // The window has ended, in Redis and in the replica.
  await redis.flushall();
  now += 60_001;
  assert.equal((await limit.take("ann", 3)).isOver, false);
});

test("requests are counted while Redis is above its maxmemory, and without Redis the answer is 503 with a time to retry", async () => {
  await redis.flushall();
  await redis.config("SET", "maxmemory", "1");
  const { isOver } = await createRateLimit(redis, Date.now).take("ann", 3);
  await redis.config("SET", "maxmemory", "0");
  assert.equal(isOver, false);
  const gone = await connectRedis({ url, name: "gone", log });
  gone.disconnect();
  const error: unknown = await createRateLimit(gone, Date.now)
    .take("ann", 3)
    .catch((reason: unknown) => reason);
  const problem = problemOf(error);
  assert.deepEqual([problem?.status, problem?.code], [503, "store_unavailable"]);
  assert.ok(Number(problem?.headers?.["retry-after"]) >= 1);
});

test("the recent records of each caller are stored up to the limit, and the oldest are removed", async () => {
  await redis.flushall();
  const limits = { most: 3, ttlMs: 60_000 };
  // The clock of a machine may go back by a millisecond.
  let at = Date.now();
  const records = createRecentRecords(redis, "accepted", { limits, now: () => (at += 1) });
  for (const name of ["a", "b", "c", "d", "e"]) await records.add("ann", name, name);
  await records.add("bob", "a", "a");
  const found = await Promise.all(["a", "b", "c", "d", "e"].map((one) => records.get("ann", one)));
  assert.deepEqual(found, [null, null, "c", "d", "e"]);
  assert.equal(await redis.hlen("yard:gateway:{accepted:ann}:texts"), 3);
  assert.equal(await redis.zcard("yard:gateway:{accepted:ann}:times"), 3);
  assert.equal(await records.get("bob", "a"), "a");
});

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { testRedis } from "@switchyard/testing/test-servers";
import { claimDue } from "./due-list.ts";
import { createLog } from "./log.ts";
import { connectRedis } from "./redis.ts";

const server = await testRedis();
const log = createLog({ service: "test", level: "silent" });
const redis = await connectRedis({ url: server.url, name: "test", log });
after(() => redis.disconnect());

test("work that is due is claimed once, the longest due first, and is due again after the claim", async () => {
  await redis.zadd("due", 300, "c", 100, "a", 200, "b", 1_000, "later");
  const claim = (now: number, limit = 10) => claimDue(redis, "due", { limit, claimMs: 50, now });
  assert.deepEqual(await claim(500, 2), ["a", "b"]);
  assert.deepEqual(await claim(500), ["c"]);
  assert.deepEqual(await claim(549), []);
  assert.deepEqual(await claim(550), ["a", "b", "c"]);
  assert.deepEqual(await claim(1_000), ["a", "b", "c", "later"]);
});

test("without a time the clock of Redis counts", async () => {
  await redis.zadd("by-redis", Date.now() - 60_000, "past", Date.now() + 60_000, "future");
  const claim = { limit: 10, claimMs: 60_000 };
  assert.deepEqual(await claimDue(redis, "by-redis", claim), ["past"]);
  assert.deepEqual(await claimDue(redis, "by-redis", claim), []);
});

test("of many that claim at the same time each gets other work", async () => {
  const names = Array.from({ length: 20 }, (_, n) => `n${n}`);
  await redis.zadd("many", ...names.flatMap((name) => [0, name]));
  const claims = names.map(() => claimDue(redis, "many", { limit: 3, claimMs: 60_000 }));
  assert.deepEqual((await Promise.all(claims)).flat().toSorted(), names.toSorted());
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { PromisedCache } from "./promised-cache.ts";

function cacheOf({ most = 10, sizeOf }: { most?: number; sizeOf?: (text: string) => number } = {}) {
  const clock = { now: 0 };
  const now = () => clock.now;
  const cache = new PromisedCache<string>({ now, most, ...(sizeOf && { sizeOf }) });
  const forLong = (_value: string, askedAt: number) => askedAt + 500;
  return { clock, cache, forLong };
}

test("a reply is cached for as long as was promised, counted from before the request", async () => {
  const { clock, cache, forLong } = cacheOf();
  let requests = 0;
  const get = () =>
    cache.get(
      "k",
      async () => {
        clock.now += 300; // the way there and back
        requests += 1;
        return `v${requests}`;
      },
      forLong,
    );
  assert.equal(await get(), "v1");
  clock.now = 499;
  assert.equal(await get(), "v1");
  clock.now = 500;
  assert.equal(cache.find("k"), undefined);
  assert.equal(cache.find("k", 499), "v1");
  assert.equal(cache.has("k"), true);
  assert.equal(await get(), "v2");
});

test("a reply without a promise is not cached, and drops an earlier one", () => {
  const { cache } = cacheOf();
  cache.keep("k", "v1", 100);
  assert.equal(cache.size, 1);
  cache.keep("k", "v2", null);
  assert.equal(cache.find("k"), undefined);
  assert.equal(cache.size, 0);
});

test("callers at the same moment share one request, and its failure, which is not cached", async () => {
  const { cache, forLong } = cacheOf();
  const replies = [Promise.reject(new Error("not now")), Promise.resolve("v")];
  let requests = 0;
  const get = () =>
    cache.get("k", () => replies[requests++] ?? Promise.reject(new Error("a third")), forLong);
  const failed = await Promise.allSettled([get(), get()]);
  assert.deepEqual(
    failed.map(({ status }) => status),
    ["rejected", "rejected"],
  );
  assert.deepEqual(await Promise.all([get(), get()]), ["v", "v"]);
  assert.equal(requests, 2);
});

test("a request can be found until it has its reply, which is cached first", async () => {
  const { cache } = cacheOf();
  const reply = Promise.withResolvers<string>();
  const asked = cache.ask("k", async () => {
    const value = await reply.promise;
    cache.keep("k", value, 100);
    return value;
  });
  assert.equal(cache.underWay("other"), null);
  const seen = cache.underWay("k")?.then(() => cache.find("k"));
  reply.resolve("v");
  assert.equal(await seen, "v");
  assert.equal(await asked, "v");
  assert.equal(cache.underWay("k"), null);
});

test("a key that is deleted during its request stays without a reply", async () => {
  const { cache, forLong } = cacheOf();
  const reply = Promise.withResolvers<string>();
  const first = cache.get("k", () => reply.promise, forLong);
  cache.delete("k");
  const second = cache.get("k", async () => "new", forLong);
  reply.resolve("old");
  assert.equal(await first, "old");
  assert.equal(await second, "new");
  assert.equal(cache.find("k"), "new");
  cache.delete("k");
  assert.equal(cache.find("k"), undefined);
});

test("replies are dropped by what they are, also those under way", async () => {
  const { cache, forLong } = cacheOf();
  cache.keep("a", "gone", 100);
  cache.keep("b", "stays", 100);
  const reply = Promise.withResolvers<string>();
  const asked = cache.get("c", () => reply.promise, forLong);
  cache.deleteWhere((value) => value === "gone");
  assert.equal(cache.find("a"), undefined);
  assert.equal(cache.find("b"), "stays");
  reply.resolve("gone");
  assert.equal(await asked, "gone");
  assert.equal(cache.find("c"), undefined);
  cache.clear();
  assert.equal(cache.size, 0);
});

test("the sizes of all replies have a limit, and the oldest is dropped first", () => {
  const { cache } = cacheOf({ most: 10, sizeOf: (text) => text.length });
  for (const [key, value] of Object.entries({ a: "aaaa", b: "bbb", c: "ccc" }))
    cache.keep(key, value, 100);
  assert.equal(cache.size, 10);
  cache.keep("d", "dd", 100);
  assert.deepEqual(
    ["a", "b", "c", "d"].filter((key) => cache.has(key)),
    ["b", "c", "d"],
  );
  cache.keep("b", "b".repeat(20), 100);
  assert.deepEqual([cache.size, cache.has("b"), cache.has("d")], [20, true, false]);
});

test("expired replies are dropped up to the first one that still holds", () => {
  const { clock, cache } = cacheOf();
  for (const [key, until] of Object.entries({ a: 10, b: 20, c: 50, d: 15 }))
    cache.keep(key, key, until);
  clock.now = 20;
  cache.dropExpired();
  assert.deepEqual(
    ["a", "b", "c", "d"].filter((key) => cache.has(key)),
    ["c", "d"],
  );
  assert.equal(cache.size, 2);
});

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { testRedis } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import { StoreError } from "@switchyard/service/store-error";
import { createLeaseStore } from "./lease-store.ts";

const server = await testRedis();
const log = createLog({ service: "test", level: "silent" });
const redis = await connectRedis({ url: server.url, name: "test", log });
after(() => redis.disconnect());

const a = createLeaseStore(redis, "a");
const b = createLeaseStore(redis, "b");

test("one of two takes a lease, and only with it writes, renews and releases count", async () => {
  const [epoch] = await a.acquire(["one"], 60_000);
  assert.equal(epoch, 1);
  assert.deepEqual(await b.acquire(["one", "two"], 60_000), [null, 1]);
  const mine = { server: "one", epoch: 1 };
  assert.deepEqual(await b.renew([mine], 60_000), [false]);
  assert.equal(await b.write(mine, { version: 1, text: "b" }), false);
  await b.release(mine);
  assert.equal(await a.write(mine, { version: 1, text: "a" }), true);
  assert.deepEqual(await b.read("one"), { stamp: "1.1", text: "a" });
  const [seen, free] = await b.look(["one", "three"]);
  assert.equal(seen?.owner, "a");
  assert.equal(seen.stamp, "1.1");
  assert.equal(free, null);
});

test("the state that an owner published is gone with its lease", async () => {
  const [first] = await a.acquire(["grows"], 60_000);
  const old = { server: "grows", epoch: first ?? 0 };
  assert.equal(await a.write(old, { version: 1, text: "a" }), true);
  assert.deepEqual(await a.renew([old], 30), [true]);
  await until(
    () => b.look(["grows"]),
    ([lease]) => lease === null,
  );
  assert.equal(await b.read("grows"), null);
  assert.deepEqual(await b.acquire(["grows"], 60_000), [old.epoch + 1]);
  assert.equal(await a.write(old, { version: 9, text: "too late" }), false);
  const [held] = await b.look(["grows"]);
  assert.equal(held?.stamp, `${old.epoch + 1}.0`);
});

test("Redis that is away is an error of its own", async () => {
  const gone = await testRedis();
  const broken = await connectRedis({ url: gone.url, name: "test", log });
  await gone.stop();
  const store = createLeaseStore(broken, "a");
  await assert.rejects(store.acquire(["x"], 1_000), StoreError);
  await assert.rejects(store.look(["x"]), StoreError);
  broken.disconnect();
});

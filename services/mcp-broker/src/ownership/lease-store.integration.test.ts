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

test("the epoch grows with every owner, and outlives the lease", async () => {
  const [first] = await a.acquire(["grows"], 30);
  const old = { server: "grows", epoch: first ?? 0 };
  await until(
    () => b.look(["grows"]),
    ([lease]) => lease === null,
  );
  // The state that the owner published was deleted with the lease.
  assert.equal(await b.read("grows"), null);
  assert.deepEqual(await a.renew([old], 30), [false]);
  assert.deepEqual(await b.acquire(["grows"], 60_000), [(first ?? 0) + 1]);
  assert.equal(await a.write(old, { version: 9, text: "too late" }), false);
  await a.release(old);
  const [held] = await b.look(["grows"]);
  assert.equal(held?.owner, "b");
});

test("an owner whose first answer was lost gets its lease under a new epoch", async () => {
  const [lost] = await a.acquire(["again"], 60_000);
  const [epoch] = await a.acquire(["again"], 60_000);
  assert.equal(epoch, (lost ?? 0) + 1);
  assert.deepEqual(await a.renew([{ server: "again", epoch: lost ?? 0 }], 60_000), [false]);
});

test("of many that claim at the same time one gets the lease", async () => {
  const stores = Array.from({ length: 20 }, (_, n) => createLeaseStore(redis, `many-${n}`));
  const epochs = await Promise.all(stores.map((store) => store.acquire(["wanted"], 60_000)));
  assert.equal(epochs.filter(([epoch]) => epoch !== null).length, 1);
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

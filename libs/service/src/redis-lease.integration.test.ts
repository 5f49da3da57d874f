import assert from "node:assert/strict";
import { after, test } from "node:test";
import { until } from "@switchyard/local-servers/until";
import { testRedis } from "@switchyard/testing/test-servers";
import { createLog } from "./log.ts";
import { connectRedis } from "./redis.ts";
import {
  acquireLease,
  HOLDS_LEASE,
  type Lease,
  LOCKS,
  releaseLease,
  releaseLock,
  renewLease,
  takeLock,
} from "./redis-lease.ts";
import { StoreError } from "./store-error.ts";

const server = await testRedis();
const log = createLog({ service: "test", level: "silent" });
const redis = await connectRedis({ url: server.url, name: "test", log });
after(() => redis.disconnect());

const LONG_MS = 60_000;
const keysOf = (name: string) => ({ lease: `{${name}}:lease`, epoch: `{${name}}:epoch` });
const acquire = (name: string, owner: string, leaseMs = LONG_MS) =>
  acquireLease(redis, keysOf(name), { owner, leaseMs });
const isHeld = async (name: string, { owner, epoch }: Lease) =>
  (await redis.eval(
    `${HOLDS_LEASE} return holdsLease(KEYS[1], ARGV[1], ARGV[2])`,
    1,
    keysOf(name).lease,
    owner,
    epoch,
  )) === 1;

test("one of two acquires a lease, and only its owner renews and releases it", async () => {
  const lease = await acquire("one", "a");
  assert.deepEqual(lease, { owner: "a", epoch: 1 });
  assert.equal(await acquire("one", "b"), null);
  const foreign = { owner: "b", epoch: 1 };
  assert.equal(await renewLease(redis, keysOf("one"), { ...foreign, leaseMs: LONG_MS }), false);
  await releaseLease(redis, keysOf("one"), foreign);
  assert.equal(await isHeld("one", foreign), false);
  assert.equal(await isHeld("one", lease), true);
  assert.equal(await renewLease(redis, keysOf("one"), { ...lease, leaseMs: 2 * LONG_MS }), true);
  const leftMs = await redis.pttl(keysOf("one").lease);
  assert.ok(leftMs > LONG_MS && leftMs <= 2 * LONG_MS, `${leftMs} ms are left`);
  await releaseLease(redis, keysOf("one"), lease);
  assert.deepEqual(await acquire("one", "b"), { owner: "b", epoch: 2 });
});

test("an expired lease is not renewed, and the epoch grows with every owner", async () => {
  const old = await acquire("grows", "a", 30);
  assert.ok(old !== null);
  await until(
    () => redis.exists(keysOf("grows").lease),
    (count) => count === 0,
  );
  assert.equal(await isHeld("grows", old), false);
  assert.equal(await renewLease(redis, keysOf("grows"), { ...old, leaseMs: LONG_MS }), false);
  const next = await acquire("grows", "b");
  assert.equal(next?.epoch, old.epoch + 1);
  await releaseLease(redis, keysOf("grows"), old);
  assert.equal(await isHeld("grows", next), true);
});

test("an owner whose first answer was lost gets its lease under a new epoch, without the fields of the old one", async () => {
  const keys = keysOf("again");
  const claim = { owner: "a", leaseMs: LONG_MS, fields: ["version", 0] };
  const lost = await acquireLease(redis, keys, claim);
  assert.ok(lost !== null);
  await redis.hset(keys.lease, "text", "old");
  const lease = await acquireLease(redis, keys, claim);
  assert.equal(lease?.epoch, lost.epoch + 1);
  assert.equal(await isHeld("again", lost), false);
  assert.deepEqual(await redis.hgetall(keys.lease), { owner: "a", epoch: "2", version: "0" });
});

test("of many that claim at the same time one gets the lease", async () => {
  const owners = Array.from({ length: 20 }, (_, n) => `many-${n}`);
  const leases = await Promise.all(owners.map((owner) => acquire("wanted", owner)));
  assert.equal(leases.filter((lease) => lease !== null).length, 1);
});

test("a lock is taken once until it expires, and only its holder releases it", async () => {
  const take = (holder: string) => takeLock(redis, "lock", { holder, forMs: LONG_MS });
  assert.equal(await takeLock(redis, "lock", { holder: "a", forMs: 30 }), true);
  await until(
    () => take("b"),
    (isTaken) => isTaken,
  );
  assert.equal(await take("b"), false);
  await releaseLock(redis, "lock", "a");
  assert.equal(await take("a"), false);
  await releaseLock(redis, "lock", "b");
  assert.equal(await take("a"), true);
});

test("a script prolongs the lock of its holder, and leaves another holder's alone", async () => {
  const hold = (holder: string, ms: number) =>
    redis.eval(`${LOCKS} return holdLock(KEYS[1], ARGV[1], ARGV[2])`, 1, "held", holder, ms);
  assert.equal(await hold("a", LONG_MS), 1);
  assert.equal(await hold("b", 2 * LONG_MS), null);
  assert.ok((await redis.pttl("held")) <= LONG_MS);
  assert.equal(await hold("a", 2 * LONG_MS), 1);
  assert.ok((await redis.pttl("held")) > LONG_MS);
});

test("Redis that is away is an error of its own", async () => {
  const gone = await testRedis();
  const broken = await connectRedis({ url: gone.url, name: "test", log });
  await gone.stop();
  const claim = { owner: "a", leaseMs: LONG_MS };
  await assert.rejects(acquireLease(broken, keysOf("x"), claim), StoreError);
  await assert.rejects(takeLock(broken, "x", { holder: "a", forMs: LONG_MS }), StoreError);
  broken.disconnect();
});

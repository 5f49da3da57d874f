import assert from "node:assert/strict";
import { testRedis } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { after, test } from "node:test";
import { createLog } from "./log.ts";
import { createOwnerStorage, type Holding, type OwnerStorage } from "./owner-storage.ts";
import { storageKey } from "./owner-account.ts";
import { connectRedis } from "./redis.ts";
import { openRedisRoom, roomIn } from "./redis-room.ts";

const DAY_MS = 86_400_000;
const server = await testRedis();
const log = createLog({ service: "test", level: "silent" });
const redis = await connectRedis({ url: server.url, name: "test", log });
const room = await openRedisRoom(redis);
after(() => {
  room.stop();
  redis.disconnect();
});

interface Storage extends OwnerStorage {
  readonly troubles: unknown[];
}

function storageOf(service: string, { limitBytes = 1_000, now = Date.now } = {}): Storage {
  const troubles: unknown[] = [];
  const onTrouble = (error: unknown): void => void troubles.push(error);
  const storage = createOwnerStorage({ redis, room, service, limitBytes, now, onTrouble });
  return { ...storage, troubles };
}

const ledgerOf = (owner: string, service = "runner") => redis.hgetall(storageKey(owner, service));
const totalOf = async (owner: string, service = "runner") =>
  Number((await ledgerOf(owner, service))["="] ?? 0);
const lasting = (bytes: number): Holding => ({ bytes, ends: null });
const FULL = { name: "ServiceError", code: "storage_full" };

async function evals(): Promise<number> {
  const [, calls = "0"] = /cmdstat_eval:calls=(\d+)/.exec(await redis.info("commandstats")) ?? [];
  return Number(calls);
}

test("refuses a thing before it is made, and takes it when another one is gone", async () => {
  const storage = storageOf("runner");
  await storage.reserve("a", { thing: "run:1", bytes: 600 });
  await assert.rejects(
    storage.reserve("a", { thing: "run:2", bytes: 600 }),
    (error: Error & { data: unknown }) => {
      assert.deepEqual(error.data, { scope: "owner", usedBytes: 600, limitBytes: 1_000 });
      return true;
    },
  );
  await storage.reserve("b", { thing: "run:1", bytes: 600 });
  await storage.reserve("a", { thing: "run:1", bytes: 600 });
  assert.equal(await totalOf("a"), 600, "the same again is the same thing");
  storage.set("a", "run:1", lasting(0));
  await storage.reserve("a", { thing: "run:2", bytes: 600 });
  assert.deepEqual(Object.keys(await ledgerOf("a")).toSorted(), ["=", "run:2"]);
});

test("takes no more of many that come at once to several processes than there is room for", async () => {
  const processes = [storageOf("runner"), storageOf("runner"), storageOf("runner")];
  const outcomes = await Promise.allSettled(
    Array.from({ length: 60 }, (_, n) =>
      (processes[n % processes.length] ?? assert.fail()).reserve("many", {
        thing: `run:${n}`,
        bytes: 100,
      }),
    ),
  );
  assert.equal(outcomes.filter(({ status }) => status === "fulfilled").length, 10);
  assert.equal(await totalOf("many"), 1_000);
});

test("writes reservations that come at once together", async () => {
  const storage = storageOf("runner");
  const before = await evals();
  await Promise.all(
    Array.from({ length: 50 }, (_, n) =>
      storage.reserve("group", { thing: `run:${n}`, bytes: 10 }),
    ),
  );
  const scripts = (await evals()) - before;
  assert.ok(scripts <= 2, `${scripts} scripts`);
});

test("sets what a thing holds, so that a repeat and a second process change nothing", async () => {
  const [one, two] = [storageOf("runner"), storageOf("runner")];
  await one.reserve("grown", { thing: "run:1", bytes: 10 });
  for (const storage of [one, two, one]) storage.set("grown", "run:1", lasting(300));
  await Promise.all([one.stop(), two.stop()]);
  assert.equal(await totalOf("grown"), 300);
  one.set("grown", "run:1", lasting(0));
  await one.stop();
  assert.deepEqual(await ledgerOf("grown"), {}, "of an owner without things nothing is left");
});

test("counts what several services store together, and each sees what the others have", async () => {
  const [runner, broker] = [storageOf("runner"), storageOf("broker")];
  await runner.reserve("both", { thing: "run:1", bytes: 600 });
  broker.add("both", 500, DAY_MS);
  await broker.stop();
  await assert.rejects(storageOf("toolbox").admit("both"), FULL);
  await assert.rejects(storageOf("scheduler").admit("both"), FULL, "also one that keeps nothing");
  await storageOf("scheduler").admit("somebody else");
});

test("stops counting things that Redis has deleted by itself", async () => {
  let now = Date.now();
  const storage = storageOf("broker", { now: () => now });
  for (let call = 0; call < 5; call += 1) storage.add("calls", 200, DAY_MS);
  await storage.stop();
  assert.equal(Object.keys(await ledgerOf("calls", "broker")).length, 2, "one sum and one part");
  await assert.rejects(storage.admit("calls"), FULL);
  now += DAY_MS + DAY_MS / 24 + 1_000;
  await storage.admit("calls");
  assert.deepEqual(await ledgerOf("calls", "broker"), {});
});

test("looks up things that were not set for a day, and corrects the counts that a killed process left", async () => {
  let now = Date.now();
  const storage = storageOf("runner", { now: () => now });
  const found = new Map<string, Holding>([["run:grown", lasting(400)]]);
  storage.lookUpWith((owner, thing) => {
    assert.equal(owner, "killed");
    return Promise.resolve(found.get(thing) ?? null);
  });
  // The process died before it could make the first one, and before it could write the new size of the other one.
  await storage.reserve("killed", { thing: "run:never", bytes: 500 });
  await storage.reserve("killed", { thing: "run:grown", bytes: 100 });
  now += DAY_MS + 1_000;
  await until(async () => {
    now += 1_001;
    await storage.admit("killed");
    return (await totalOf("killed")) === 400;
  });
  assert.deepEqual(storage.troubles, []);
});

test("refuses nothing for a sum that it only estimates", async () => {
  const storage = storageOf("runner");
  await storage.reserve("estimate", { thing: "run:1", bytes: 900 });
  storage.set("estimate", "run:1", lasting(910)); // counted in full until it is written
  await storage.admit("estimate");
  assert.equal(await totalOf("estimate"), 910);
});

test("asks Redis for a second's worth of changes at once", async () => {
  const storage = storageOf("runner", { limitBytes: 10 ** 9 });
  await storage.admit("cheap");
  const before = await evals();
  for (let run = 0; run < 200; run += 1) {
    await storage.admit("cheap");
    storage.set("cheap", `run:${run}`, lasting(100));
    storage.add("cheap", 50, DAY_MS);
  }
  await storage.stop();
  assert.ok((await evals()) - before <= 3, `${(await evals()) - before} scripts`);
  assert.equal(await totalOf("cheap"), 200 * 150);
});

test("keeps what could not be written, and writes it later", async (t) => {
  const own = await testRedis();
  const client = await connectRedis({ url: own.url, name: "test", log });
  t.after(() => client.disconnect());
  const troubles: unknown[] = [];
  const storage = createOwnerStorage({
    redis: client,
    room,
    service: "runner",
    limitBytes: 1_000,
    now: Date.now,
    onTrouble: (error) => void troubles.push(error),
  });
  storage.set("kept", "run:1", lasting(300));
  await client.config("SET", "min-replicas-to-write", "1");
  await assert.rejects(storage.admit("kept"), { name: "StoreError", trouble: "no-replicas" });
  await assert.rejects(storage.reserve("kept", { thing: "run:2", bytes: 1 }), {
    trouble: "no-replicas",
  });
  await client.config("SET", "min-replicas-to-write", "0");
  await storage.stop();
  assert.equal(await client.hget(storageKey("kept", "runner"), "="), "300");
});

test("refuses new work at 85 % of maxmemory and what is under way at 92 %, and counts also above it", async () => {
  const info = (used: number, limit: number) =>
    `# Memory\r\nused_memory:${used}\r\nmem_not_counted_for_evict:10\r\nmaxmemory:${limit}\r\n`;
  assert.deepEqual(roomIn([info(510, 1_000), info(860, 1_000)]), {
    fill: 0.85,
    limitBytes: 2_000,
    usedBytes: 1_350,
  });
  assert.deepEqual(roomIn([info(510, 0)]), { fill: 0, limitBytes: null, usedBytes: 500 });
  const storageAt = (fill: number) => {
    const at = { fill, limitBytes: 2_000, usedBytes: 1_700, stop() {} };
    return createOwnerStorage({
      redis,
      room: at,
      service: "runner",
      limitBytes: null,
      now: Date.now,
      onTrouble: () => assert.fail("trouble"),
    });
  };
  await storageAt(0.84).admit("near");
  await assert.rejects(storageAt(0.85).admit("near"), (error: Error & { data: unknown }) => {
    assert.deepEqual(error.data, { scope: "redis", usedBytes: 1_700, limitBytes: 2_000 });
    return true;
  });
  await storageAt(0.91).admit("near", { isUnderWay: true });
  await assert.rejects(storageAt(0.92).admit("near", { isUnderWay: true }), FULL);

  const full = await testRedis();
  const client = await connectRedis({ url: full.url, name: "test", log });
  after(() => client.disconnect());
  await client.config("SET", "maxmemory", "100kb");
  const seen = await openRedisRoom(client);
  after(() => seen.stop());
  assert.ok(seen.fill > 1, `${seen.fill}`);
  const options = { redis: client, room: seen, service: "runner", limitBytes: null };
  const storage = createOwnerStorage({
    ...options,
    now: Date.now,
    onTrouble: () => assert.fail("trouble"),
  });
  storage.set("ended", "run:1", lasting(7));
  await storage.stop();
  assert.equal(await client.hget(storageKey("ended", "runner"), "="), "7");
});

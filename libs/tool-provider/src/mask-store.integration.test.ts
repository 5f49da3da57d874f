import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, test } from "node:test";
import { testRedis } from "@switchyard/testing/test-servers";
import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import { createMaskStore, type MaskedValue } from "./mask-store.ts";

const { url } = await testRedis();
const log = createLog({ service: "test", level: "silent" });
const redis = await connectRedis({ url, name: "masks", log });
after(() => redis.disconnect());

const key = randomBytes(32);
const stored: [string, number, number][] = [];
const lost: unknown[] = [];
const storeWith = (...keys: Buffer[]) =>
  createMaskStore({
    redis,
    keys,
    storage: { add: (...added) => void stored.push(added) },
    onLost: (error) => void lost.push(error),
  });
const masks = storeWith(key);
const IBAN = "DE89 3704 0044 0532 0130 00";
const iban = (value: string): MaskedValue => ({ kind: "iban", value });
const run = (runId: string) => ({ runId, user: "ann" });

test("a value has one mask in its run, at every provider and however it is written, and only that run gets it", async () => {
  assert.deepEqual(await masks.mask(run("one"), [iban(IBAN), { kind: "card", value: "4111" }]), [
    "⟦iban:1⟧",
    "⟦card:1⟧",
  ]);
  const other = storeWith(key);
  const [same, another] = await other.mask(run("one"), [
    iban("DE89370400440532013000"),
    iban("GB82"),
  ]);
  assert.deepEqual([same, another], ["⟦iban:1⟧", "⟦iban:2⟧"]);
  const values = await other.values("one", ["⟦iban:1⟧", "⟦iban:2⟧", "⟦iban:3⟧"]);
  assert.deepEqual(Object.fromEntries(values), { "⟦iban:1⟧": IBAN, "⟦iban:2⟧": "GB82" });
  assert.equal((await masks.values("two", ["⟦iban:1⟧"])).size, 0);
});

test("concurrent calls get different masks for different values", async () => {
  const all = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      masks.mask(run("busy"), [iban(`value ${index % 10}`)]),
    ),
  );
  assert.equal(new Set(all.flat()).size, 10);
});

test("Redis has no value in clear, deletes them with the run, and they count for their user", async () => {
  const content = JSON.stringify(await redis.hgetall("yard:run:{one}:masks"));
  assert.ok(!content.includes("0532") && !content.includes("DE89"), content);
  const seconds = await redis.ttl("yard:run:{one}:masks");
  assert.ok(seconds > 29 * 86_400 && seconds <= 30 * 86_400);
  assert.ok(stored.every(([user, bytes]) => user === "ann" && bytes > 200));
});

test("a value is not stored, and its mask cannot be turned back, without a key, without a run, and above the limit of a run", async () => {
  assert.deepEqual(await storeWith().mask(run("one"), [iban(IBAN)]), ["⟦iban⟧"]);
  assert.deepEqual(await masks.mask(null, [iban(IBAN)]), ["⟦iban⟧"]);
  const many = Array.from({ length: 1_100 }, (_, index) => iban(`value ${index}`));
  const made = await masks.mask(run("many"), many);
  const kept = made.filter((mask) => mask !== "⟦iban⟧").length;
  assert.ok(kept >= 999 && kept <= 1_000, String(kept));
  assert.equal((await masks.mask(run("many"), [iban("value 0")]))[0], "⟦iban:1⟧");
});

test("another key opens nothing, and a new one in front of the old one opens everything", async () => {
  const next = randomBytes(32);
  assert.equal((await storeWith(next).values("one", ["⟦iban:1⟧"])).size, 0);
  const both = await storeWith(next, key).values("one", ["⟦iban:1⟧"]);
  assert.equal(both.get("⟦iban:1⟧"), IBAN);
});

test("a value that Redis does not store has a mask all the same", async () => {
  const away = await connectRedis({ url, name: "away", log });
  away.disconnect();
  const store = createMaskStore({
    redis: away,
    keys: [key],
    onLost: (error) => void lost.push(error),
  });
  assert.deepEqual(await store.mask(run("one"), [iban(IBAN)]), ["⟦iban⟧"]);
  assert.equal(lost.length, 1);
});

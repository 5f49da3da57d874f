import assert from "node:assert/strict";
import { test } from "node:test";
import { fromRedis, StoreError, storeErrorOf, type StoreTrouble } from "./store-error.ts";

/** Builds an error as ioredis 6 throws it for a reply of Redis. */
function reply(message: string, previousErrors?: readonly Error[]): Error {
  const error = Object.assign(new Error(message), { name: "ReplyError" });
  return previousErrors === undefined ? error : Object.assign(error, { previousErrors });
}

const OOM = "OOM command not allowed when used memory > 'maxmemory'.";
const ABORTED = "EXECABORT Transaction discarded because of previous errors.";
const SCRIPT = " script: 82cdd3d7ab6b96f9a5947917c9f163ca06cc907a, on @user_script:1.";

/** The texts are those of redis-server 7 and of ioredis 6. */
const TROUBLES: readonly (readonly [StoreTrouble, Error])[] = [
  ["full", reply(OOM)],
  ["full", reply(`${OOM}${SCRIPT}`)],
  ["full", reply(ABORTED, [reply(OOM), reply(OOM)])],
  ["loading", reply("LOADING Redis is loading the dataset in memory")],
  ["replica", reply("READONLY You can't write against a read only replica.")],
  ["no-primary", reply("MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set.")],
  ["no-primary", reply("CLUSTERDOWN Hash slot not served")],
  ["no-primary", reply("TRYAGAIN Multiple keys request during rehashing of slot")],
  ["disk", reply("MISCONF Errors writing to the AOF file: No space left on device")],
  ["no-replicas", reply("NOREPLICAS Not enough good replicas to write.")],
  ["busy", reply("BUSY Redis is busy running a script.")],
  ["denied", reply("NOPERM User broker has no permissions to access a key")],
  ["denied", reply("NOAUTH Authentication required.")],
  ["silent", new Error("Command timed out")],
  ["unreachable", new Error("Connection is closed.")],
  ["unreachable", new Error("Stream isn't writeable and enableOfflineQueue options is false")],
  ["unreachable", new Error("Reached the max retries per request limit (which is 0).")],
  ["unreachable", new Error("Cluster isn't ready and enableOfflineQueue options is false")],
  ["unreachable", Object.assign(new Error("connect refused"), { code: "ECONNREFUSED" })],
];

test("has one message for each trouble with Redis, which names a remedy", async () => {
  const messages = new Map<StoreTrouble, Set<string>>();
  for (const [trouble, error] of TROUBLES) {
    const found = storeErrorOf(error);
    assert.equal(found?.trouble, trouble, error.message);
    assert.equal(found.cause, error);
    const [advice = ""] = found.message.split(" (");
    assert.match(advice, /^(?:a part of )?Redis .+: .+/);
    messages.set(trouble, (messages.get(trouble) ?? new Set()).add(advice));
    await assert.rejects(fromRedis(Promise.reject(error)), { name: "StoreError", trouble });
  }
  for (const [trouble, texts] of messages) assert.equal(texts.size, 1, trouble);
});

test("leaves the place in a script out of the message", () => {
  assert.doesNotMatch(storeErrorOf(reply(`${OOM}${SCRIPT}`))?.message ?? "", /82cdd3d7/);
});

test("takes a mistake of the program for a fault, and lets it through as it is", async () => {
  const faults = [
    reply("ERR unknown command 'HGTE'"),
    reply("WRONGTYPE Operation against a key holding the wrong kind of value"),
    reply(ABORTED, [reply("ERR wrong number of arguments for 'set' command")]),
    new TypeError("a is undefined"),
    Object.assign(new Error("ENOENT: no such file"), { code: "ENOENT" }),
  ];
  for (const fault of faults) {
    assert.equal(storeErrorOf(fault), null, fault.message);
    await assert.rejects(fromRedis(Promise.reject(fault)), (error) => error === fault);
  }
  assert.equal(storeErrorOf("Connection is closed."), null);
});

test("keeps an error that was classified before", () => {
  const known = new StoreError("what Redis holds cannot be read");
  assert.equal(storeErrorOf(known), known);
  assert.equal(known.trouble, null);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { isStoreOutage } from "./store-outage.ts";

test("tells a Redis that is away or takes nothing from a mistake of ours", () => {
  const away = [
    new Error("Connection is closed."),
    new Error("Stream isn't writeable and enableOfflineQueue options is false"),
    new Error("Command timed out"),
    Object.assign(new Error("connect ECONNREFUSED 127.0.0.1:1"), { code: "ECONNREFUSED" }),
    new Error("OOM command not allowed when used memory > 'maxmemory'."),
    new Error("READONLY You can't write against a read only replica."),
    new Error("LOADING Redis is loading the dataset in memory"),
    new Error("MISCONF Errors writing to the AOF file: No space left on device"),
  ];
  const faults = [
    new Error("ERR unknown command 'HGTE'"),
    new Error("WRONGTYPE Operation against a key holding the wrong kind of value"),
    new TypeError("a is undefined"),
    Object.assign(new Error("ENOENT: no such file"), { code: "ENOENT" }),
    "Connection is closed.",
  ];
  assert.deepEqual(
    away.map(isStoreOutage),
    away.map(() => true),
  );
  assert.deepEqual(
    faults.map(isStoreOutage),
    faults.map(() => false),
  );
});

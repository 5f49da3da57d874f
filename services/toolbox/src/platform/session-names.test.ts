import assert from "node:assert/strict";
import { test } from "node:test";
import { announceOfKey } from "./session-names.ts";

test("a job is announced in the chat that a session's key names, if the key has its own id", () => {
  const cases: [string, ReturnType<typeof announceOfKey>][] = [
    ["agent:a:telegram:direct:42", { channel: "telegram", to: "user:42" }],
    [
      "agent:a:slack:work:channel:C1:thread:9",
      { channel: "slack", to: "channel:C1", accountId: "work" },
    ],
    ["agent:a:slack:group:G1", { channel: "slack", to: "group:G1" }],
    ["agent:a:slack:direct:#0123", null],
    ["agent:a:main", null],
    ["main", null],
  ];
  for (const [key, place] of cases) assert.deepEqual(announceOfKey(key), place, key);
});

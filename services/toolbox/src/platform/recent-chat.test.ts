import assert from "node:assert/strict";
import { test } from "node:test";
import { recentLines } from "./recent-chat.ts";

test("the end of a chat is cut to the limit of a reminder, the latest messages first [F25]", () => {
  const said = (role: "user" | "assistant" | "tool", text: string) => ({ role, text });
  assert.deepEqual(
    recentLines([said("user", "call\nAda"), said("tool", "{}"), said("assistant", "when?")]),
    ["- User: call Ada", "- Assistant: when?"],
  );
  const long = recentLines(Array.from({ length: 10 }, () => said("user", "x".repeat(1_000))));
  assert.deepEqual(
    long.map((line) => line.length),
    [228, 228, 228],
  );
  assert.ok(long.every((line) => line.endsWith("…")));
});

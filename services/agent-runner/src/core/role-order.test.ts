import assert from "node:assert/strict";
import { test } from "node:test";
import type { ModelMessage } from "ai";
import { inRoleOrder } from "./role-order.ts";

test("joins messages of users, and puts an answer between results and a message", () => {
  const results: ModelMessage = {
    role: "tool",
    content: [
      {
        type: "tool-result",
        toolCallId: "1",
        toolName: "t",
        output: { type: "text", value: "r" },
      },
    ],
  };
  const ordered = inRoleOrder([
    { role: "user", content: "a" },
    { role: "user", content: "b" },
    { role: "assistant", content: "c" },
    results,
    { role: "user", content: "d" },
    { role: "user", content: [{ type: "text", text: "e" }] },
  ]);
  assert.deepEqual(
    ordered.map(({ role }) => role),
    ["user", "assistant", "tool", "assistant", "user"],
  );
  assert.equal(ordered[0]?.content, "a\n\nb");
  assert.deepEqual(ordered[4]?.content, [
    { type: "text", text: "d" },
    { type: "text", text: "e" },
  ]);
});

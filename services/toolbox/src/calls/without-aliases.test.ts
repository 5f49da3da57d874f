import assert from "node:assert/strict";
import { test } from "node:test";
import { withoutAliases } from "./without-aliases.ts";

test("parameters of other systems become the tool's own, and never replace one that is given [F8] [F9] [F12] [F26]", () => {
  const aliases = { prompt: "task", params: null };
  for (const [given, expected] of [
    [{ prompt: "x" }, { task: "x" }],
    [{ task: "x" }, { task: "x" }],
    // The schema of the tool refuses what is left, with its name.
    [
      { prompt: "x", task: "y" },
      { prompt: "x", task: "y" },
    ],
    [
      { action: "kill", params: { target: "1" } },
      { action: "kill", target: "1" },
    ],
    [
      { action: "list", params: { action: "kill" } },
      { action: "list", params: { action: "kill" } },
    ],
    [{ params: "text" }, { params: "text" }],
    [{ params: ["a"] }, { params: ["a"] }],
    [{}, {}],
  ] as const)
    assert.deepEqual(withoutAliases(given, aliases), expected);
  assert.deepEqual(withoutAliases({ prompt: "x" }), { prompt: "x" });
});

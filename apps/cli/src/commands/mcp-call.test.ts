import assert from "node:assert/strict";
import { test } from "node:test";
import { parseArguments } from "./mcp-call.ts";

test("arguments of a tool are a JSON object that can be sent", () => {
  assert.deepEqual(parseArguments('{"path":"README.md"}', "files.read"), { path: "README.md" });
  for (const text of ["{", "[]", "null", '"x"', `${'{"a":'.repeat(20_000)}1${"}".repeat(20_000)}`])
    assert.throws(() => parseArguments(text, "files.read"), { name: "CliError", code: "usage" });
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { allowedPatterns, forbiddenPatterns, limitedTools } from "./client-tools.ts";

test("names of Claude Code become Switchyard's own; other names and patterns stay [D51] [X26]", () => {
  assert.deepEqual(allowedPatterns(["Read", "Grep", "MultiEdit", "Edit", "Bash(*)"]), [
    "read_file",
    "search_files",
    "edit_file",
    "execute_command",
  ]);
  const others = ["mcp__github__*", "read_*", "constructor", "Task"];
  assert.deepEqual(allowedPatterns(others), others);
});

test("a tool with a limit on its arguments is never allowed without the limit, and is forbidden whole", () => {
  const words = ["Bash(git add:*)", "Read(./src/**)", "Write"];
  assert.deepEqual(allowedPatterns(words), ["write_file"]);
  assert.deepEqual(forbiddenPatterns(words), ["execute_command", "read_file", "write_file"]);
  assert.deepEqual(limitedTools([...words, "Bash(*)"]), ["Bash(git add:*)", "Read(./src/**)"]);
});

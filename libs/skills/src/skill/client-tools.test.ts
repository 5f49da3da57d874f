import assert from "node:assert/strict";
import { test } from "node:test";
import { allowedPatterns, forbiddenPatterns, limitedTools, toolRemarks } from "./client-tools.ts";

test("names of Claude Code become Switchyard's own; other names and patterns stay [D51] [X26]", () => {
  assert.deepEqual(allowedPatterns(["Read", "Grep", "MultiEdit", "Edit", "Bash(*)"]), [
    "read_file",
    "search_files",
    "edit_file",
    "execute_command",
  ]);
  const others = ["mcp__github__*", "read_*", "constructor", "TodoWrite"];
  assert.deepEqual(allowedPatterns(others), others);
});

test("a tool with a limit on its arguments is never allowed without the limit, and is forbidden whole [D51] [X26]", () => {
  const words = ["Bash(git add:*)", "Bash(git log | sh)", "Read(./src/**)", "Write"];
  assert.deepEqual(allowedPatterns(words), ["execute_command(git add:*)", "write_file"]);
  assert.deepEqual(forbiddenPatterns(words), ["execute_command", "read_file", "write_file"]);
  const limited = limitedTools([...words, "Bash(*)", "Bash(:*)"]);
  assert.deepEqual(limited, ["Bash(git log | sh)", "Read(./src/**)"]);
});

test("reports allowed tools that are not allowed, and names of unknown tools [D51]", () => {
  const words = [
    "Read",
    "Task",
    "Bash(git add:*)",
    "WebFetch(domain:a.example)",
    "TodoWrite",
    "mcp__github__*",
    "web_*",
    "cron_add",
  ];
  assert.deepEqual(
    toolRemarks(words, () => ({ line: 4, column: 1 })).map(({ severity, code, message, line }) => [
      severity,
      code,
      /WebFetch\(domain:a\.example\)|TodoWrite/.exec(message)?.[0],
      line,
    ]),
    [
      ["warning", "limited_tool", "WebFetch(domain:a.example)", 4],
      ["info", "unknown_tool", "TodoWrite", 4],
    ],
  );
});

test("a server's name alone selects its tools, and a pattern that matches no tool here is a finding", () => {
  const words = ["mcp__lab", "read_*", "Notebook*", "mcp__Lab__x"];
  const remarks = toolRemarks(words, () => ({ line: 1, column: 1 }));
  assert.deepEqual(
    remarks.map(({ message }) => /"([^"]+)"/.exec(message)?.[1]),
    ["Notebook*", "mcp__Lab__x"],
  );
  assert.deepEqual(allowedPatterns(["mcp__lab"]), ["mcp__lab__*"]);
  assert.deepEqual(forbiddenPatterns(["mcp__lab"]), ["mcp__lab__*"]);
});

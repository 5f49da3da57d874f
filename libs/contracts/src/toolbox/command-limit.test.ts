import assert from "node:assert/strict";
import { test } from "node:test";
import { commandLimit, commandPattern, fitsCommandLimit } from "./command-limit.ts";
import { layerAllowsTool } from "../policy/run-token.ts";
import { builtinToolRef, mcpToolRef } from "../tool-names.ts";

test("a limit of other clients becomes a pattern of the tool that runs commands [D51] [X26]", () => {
  assert.equal(commandPattern("git add:*"), "execute_command(git add:*)");
  assert.equal(commandPattern("git add *"), "execute_command(git add:*)");
  assert.equal(commandPattern("npm run test:unit"), "execute_command(npm run test:unit)");
});

test("a limit that is more than the first words of a command is none that can be kept", () => {
  const limits = [
    "git * main",
    "*",
    "git:* push",
    'git "',
    "git\\ x:*",
    "a;b:*",
    "$HOME/x:*",
    "a  b",
    "a\nb:*",
    "",
  ];
  for (const limit of limits) assert.equal(commandPattern(limit), null, limit);
  for (const pattern of [
    "execute_command",
    "execute_command()",
    "execute_command(a;b)",
    "x(git:*)",
    "mcp__a__execute_command(git:*)",
  ])
    assert.equal(commandLimit(pattern), null, pattern);
});

test("commands fit by whole words, never with a shell, and never when they are not text", () => {
  const prefix = commandLimit("execute_command(git add:*)");
  const exact = commandLimit("execute_command(make)");
  assert.ok(prefix !== null && exact !== null);
  for (const command of ["git add", "git add .", "git add 'a b'"]) {
    assert.equal(fitsCommandLimit(prefix, { command }), true, command);
    assert.equal(fitsCommandLimit(prefix, { command, shell: false, cwd: "x" }), true, command);
    for (const shell of [true, "false", null, 0])
      assert.equal(fitsCommandLimit(prefix, { command, shell }), false, command);
  }
  for (const command of [
    "git addx",
    "git  add",
    " git add",
    "git commit",
    "git",
    "sudo git add",
    "git\tadd",
    ["git add"],
    undefined,
  ])
    assert.equal(fitsCommandLimit(prefix, { command }), false, String(command));
  assert.equal(fitsCommandLimit(exact, { command: "make" }), true);
  assert.equal(fitsCommandLimit(exact, { command: "make all" }), false);
});

test("a layer with such a pattern shows the tool, of no server, and one that excludes it hides it", () => {
  const layer = ["execute_command(git:*)"];
  assert.equal(layerAllowsTool(layer, builtinToolRef("execute_command")), true);
  assert.equal(layerAllowsTool(layer, builtinToolRef("read_file")), false);
  assert.equal(layerAllowsTool(layer, mcpToolRef("shell", "execute_command")), false);
  assert.equal(
    layerAllowsTool(["*", "!execute_command(git:*)"], builtinToolRef("execute_command")),
    false,
  );
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { CommanderError } from "commander";
import { collectingTerminal } from "../test-fixtures/collecting-terminal.ts";
import { buildProgram } from "./program.ts";
import { reportUsageAsJson } from "./usage-as-json.ts";

test("a wrong command line is one JSON document with --json, whatever is wrong", async () => {
  const wrong = [
    ["mcp", "get", "--json"],
    ["mcp", "list", "--bogus", "--json"],
    ["mcp", "bogus", "--json"],
    ["mcp", "call", "files", "read", "--timeout", "0", "--json"],
    ["mcp", "--json"],
    ["--json"],
  ];
  for (const args of wrong) {
    const { terminal, notes, lines } = collectingTerminal();
    const program = buildProgram("0.0.0", () => Promise.resolve());
    reportUsageAsJson(program, terminal);
    await assert.rejects(program.parseAsync(args, { from: "user" }), CommanderError);
    assert.equal(notes.length, 1, args.join(" "));
    const { schemaVersion, error } = JSON.parse(notes[0] ?? "");
    assert.equal(schemaVersion, 1);
    assert.equal(error.code, "usage");
    assert.match(error.message, /^(missing|unknown|option|the command is missing)/);
    assert.deepEqual(lines, []);
  }
});

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import type { Principal } from "@switchyard/contracts/policy/policy";
import { mcpToolRef } from "@switchyard/contracts/tool-names";
import { compileBundle } from "../bundle/compile-bundle.ts";
import { hasRight } from "../rights/has-right.ts";
import { decide } from "./evaluate.ts";
import { parseBundle } from "../bundle/parse-bundle.ts";
import { validate } from "./validate.ts";

const text = await readFile(
  new URL("../../../../examples/policies/demo.yaml", import.meta.url),
  "utf8",
);
const bundle = compileBundle(parseBundle({ file: "demo.yaml", text }));

test("only the single person of a laptop may approve calls that this person dictated", () => {
  assert.ok(hasRight(bundle.rights, "approve-own", "cli"));
  assert.ok(!hasRight(bundle.rights, "approve-own", "me"));
});

const READS = [
  "list_directory",
  "directory_tree",
  "search_files",
  "get_file_info",
  "read_text_file",
  "read_file",
];
const WRITES = ["write_file", "edit_file", "create_directory", "move_file"];

const someAgent = (agent: string): Principal => ({ user: "team-a", agent, runId: "run-1" });
const person = (user: string): Principal => ({ user, agent: null, runId: null });

function ask(principal: Principal, server: string, tool: string, args: object = {}) {
  return decide(bundle, {
    principal,
    tool: mcpToolRef(server, tool),
    args: { ...args },
    layers: null,
  });
}

test("the demo's policy passes its tests and has no doubtful rule", async () => {
  const testsText = await readFile(
    new URL("../../../../examples/policies/demo.test.yaml", import.meta.url),
    "utf8",
  );
  const { problems, results, findings } = validate({
    files: [{ name: "demo.yaml", text }],
    tests: [{ name: "demo.test.yaml", text: testsText }],
  });
  assert.deepEqual({ problems, findings }, { problems: [], findings: [] });
  assert.deepEqual(
    results.filter(({ passed }) => !passed),
    [],
  );
  assert.ok(results.length >= 10);
});

test("the demo's agent may read and may not write, and gets the reason", () => {
  for (const tool of READS)
    assert.equal(ask(someAgent("demo"), "files", tool).effect, "allow", tool);
  for (const tool of WRITES) {
    const { effect, rule, reason } = ask(someAgent("demo"), "files", tool);
    assert.deepEqual({ effect, rule }, { effect: "deny", rule: "no-writes" }, tool);
    assert.match(reason, /: the demo reads and never writes$/);
  }
});

test("people at the terminal may read and echo, and may not write", () => {
  for (const user of ["cli", "me"]) {
    assert.equal(ask(person(user), "files", "read_text_file").effect, "allow");
    assert.equal(ask(person(user), "files", "write_file").rule, "no-writes");
    assert.equal(ask(person(user), "everything", "echo", { message: "hi" }).effect, "allow");
    const long = { message: "x".repeat(1_001) };
    assert.equal(ask(person(user), "everything", "echo", long).effect, "deny");
  }
});

test("every other user, agent and tool is denied", () => {
  assert.equal(ask(someAgent("stranger"), "files", "read_file").rule, null);
  assert.equal(ask(person("team-a"), "files", "read_file").rule, null);
  assert.equal(ask(someAgent("demo"), "files", "read_media_file").rule, null);
  assert.equal(ask(someAgent("demo"), "everything", "get-env").rule, null);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { policyTestsPath } from "./policy-texts.ts";
import { writtenToolRef, builtinToolRef, mcpToolRef } from "../tool-names.ts";

test("the tests of a policy file are beside it", () => {
  assert.equal(policyTestsPath("policies/demo.yaml"), "policies/demo.test.yaml");
  assert.equal(policyTestsPath("/etc/rules.v2.yml"), "/etc/rules.v2.test.yml");
  assert.equal(policyTestsPath("rules"), "rules.test.yaml");
  assert.equal(policyTestsPath("/x/.yaml"), "/x/.yaml.test.yaml");
});

test("a tool is understood as it is shown and as patterns write it", () => {
  for (const text of ["mcp__files__read_file", "files.read_file", "files__read_file"]) {
    assert.deepEqual(writtenToolRef(text), mcpToolRef("files", "read_file"), text);
  }
  assert.deepEqual(writtenToolRef("files.read a file"), mcpToolRef("files", "read a file"));
  assert.deepEqual(writtenToolRef("read_file"), builtinToolRef("read_file"));
});

test("patterns and what can be no tool are not understood", () => {
  for (const text of [
    "*",
    "files.*",
    "files.rea?",
    "",
    "a b",
    "mcp__files",
    `${"s".repeat(25)}.x`,
  ]) {
    assert.equal(writtenToolRef(text), null, text);
  }
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { STANDARD_CODES } from "@switchyard/contracts/errors";
import { allContracts, isRpc } from "@switchyard/contracts/registry";
import { cliUser } from "@switchyard/topology/topology";
import { EXIT, exitCodeOf, hasExitCode } from "./exit-codes.ts";

test("every code that a call of the command line can meet has a line in the table", () => {
  const declared = allContracts
    .filter(isRpc)
    .filter((contract) => cliUser.calls.includes(contract))
    .flatMap((contract) => Object.keys(contract.errors));
  const missing = [...STANDARD_CODES, ...declared].filter((code) => !hasExitCode(code));
  assert.deepEqual(missing, []);
});

test("distinguishes usage, missing, denied, down and slow", () => {
  assert.equal(exitCodeOf("invalid_request"), EXIT.usage);
  assert.equal(exitCodeOf("unknown_agent"), EXIT.notFound);
  assert.equal(exitCodeOf("denied"), EXIT.denied);
  assert.equal(exitCodeOf("no_responders"), EXIT.dependencyDown);
  assert.equal(exitCodeOf("tool_timeout"), EXIT.timeout);
});

test("an unlisted code is a plain failure, also when an object has it as a property", () => {
  for (const code of ["model_error", "toString", "__proto__", "constructor"]) {
    assert.equal(exitCodeOf(code), EXIT.failed);
  }
});

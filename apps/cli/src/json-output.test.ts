import assert from "node:assert/strict";
import { test } from "node:test";
import { NO_OUTPUT, OUTPUTS } from "../test-fixtures/json-output/json-output.ts";
import { buildProgram } from "./program.ts";
import { leafCommands } from "./program/examples.ts";

test("what each command prints with --json has a schema, or a reason why there is none", () => {
  const commands = leafCommands(buildProgram("0.0.0", () => Promise.resolve()));
  assert.deepEqual(
    [...Object.keys(OUTPUTS), ...Object.keys(NO_OUTPUT)].toSorted(),
    commands.map(({ path }) => path).toSorted(),
  );
});

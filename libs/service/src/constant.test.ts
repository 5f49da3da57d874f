import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { replaceConstants, testConstants } from "@switchyard/testing/test-constants";
import { constant } from "./constant.ts";

const MODULE = new URL("constant.ts", import.meta.url).href;
const PROGRAM = `import { constant } from "${MODULE}";
process.stdout.write(JSON.stringify([constant("first", 1), constant("second", true), constant("third", 3)]));`;

test("a constant has its own value in every process", () => {
  assert.equal(constant("a constant without another value", 5), 5);
  assert.deepEqual(valuesIn({}), [1, true, 3]);
});

test("a test starts a process with other values, and its fixture's values do not override them", () => {
  const ofTest = testConstants({ first: 10, second: false }, {});
  assert.deepEqual(valuesIn(ofTest), [10, false, 3]);
  assert.deepEqual(valuesIn(testConstants({ first: 20, third: 30 }, ofTest)), [10, false, 30]);
});

test("a test replaces a constant in its own process, by a value of the same type", () => {
  const undo = replaceConstants({ "of this process": 7 });
  assert.equal(constant("of this process", 5), 7);
  assert.throws(() => constant("of this process", true), /is a boolean, not 7/);
  undo();
  assert.equal(constant("of this process", 5), 5);
});

function valuesIn(env: NodeJS.ProcessEnv): unknown {
  const args = ["--input-type=module", "--eval", PROGRAM];
  return JSON.parse(execFileSync(process.execPath, args, { env, encoding: "utf8" }));
}

import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldLines } from "./field-lines.ts";

const fields = [
  ["id", "apr-1"],
  ["why", "a person has to approve it, for this call or for a while"],
  ["none", ""],
] as const;

test("values are aligned, and broken at blanks where a terminal is narrow", () => {
  assert.deepEqual(fieldLines(fields, 40), [
    "id   apr-1",
    "why  a person has to approve it, for",
    "     this call or for a while",
  ]);
  assert.equal(fieldLines(fields)[1]?.endsWith("for a while"), true, "elsewhere nothing is broken");
});

test("long names in a narrow terminal have their values below", () => {
  const lines = fieldLines([["/policy explain <tool> [arguments]", "how it decides"]], 50);
  assert.deepEqual(lines, ["/policy explain <tool> [arguments]", "  how it decides"]);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { shownInstructions } from "./shown-instructions.ts";

test("instructions of a server pass unchanged, and those with hidden characters or of excessive length are left out with a reason", () => {
  const text = "Call list_tables first.\nCells use A1 notation (\u201cB2\u201d).";
  assert.deepEqual(shownInstructions(text), { instructions: text });
  assert.deepEqual(shownInstructions(undefined), { instructions: null });
  const hidden = shownInstructions(`Be kind.${String.fromCodePoint(0xe0041, 0xe0042, 0xe0043)}`);
  assert.equal(hidden.instructions, null);
  assert.match(hidden.problem ?? "", /^[a-z_]+: /);
  assert.equal(shownInstructions("x".repeat(16_001)).instructions, null);
});

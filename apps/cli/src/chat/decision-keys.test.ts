import assert from "node:assert/strict";
import { test } from "node:test";
import { choicesText, keyLines, keyOfLine, lettersFor, notOffered } from "./decision-keys.ts";

test("each key is offered, accepted and explained, and a session only where the rule allows it", () => {
  assert.equal(choicesText("session"), "y once, s session, n no, ? explain");
  assert.equal(choicesText("always"), "y once, n no, ? explain");
  for (const tier of ["session", "always"] as const)
    for (const letter of lettersFor(tier)) {
      assert.equal(keyOfLine(` ${letter.toUpperCase()} `, tier), letter);
      assert.ok(
        keyLines(tier, "").some((line) => line.startsWith(`  ${letter}  `)),
        letter,
      );
    }
  assert.equal(keyOfLine("s", "always"), null);
  assert.equal(keyOfLine("session", "always"), null);
  assert.match(notOffered("session", "always"), /no approval for a session: y, n or \?/);
  assert.equal(notOffered("maybe", "session"), "type one of y, s, n, ?");
});

test("whole words are accepted, and what could be another answer is not", () => {
  assert.deepEqual(
    ["yes", "No", "session", "", "a", "d", "maybe", "__proto__"].map((line) =>
      keyOfLine(line, "session"),
    ),
    ["y", "n", "s", null, null, null, null, null],
  );
});

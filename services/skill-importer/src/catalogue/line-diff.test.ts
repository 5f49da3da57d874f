import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { lineDiff } from "./line-diff.ts";

test("shows what changed with three lines around it", () => {
  const lines = Array.from({ length: 20 }, (_, index) => `line ${index}`);
  const changed = lines.with(10, "another").toSpliced(11, 1);
  assert.equal(
    lineDiff(lines.join("\n"), changed.join("\n")),
    [
      "…",
      " line 7",
      " line 8",
      " line 9",
      "-line 10",
      "-line 11",
      "+another",
      " line 12",
      " line 13",
      " line 14",
      "…",
    ].join("\n"),
  );
  assert.equal(lineDiff("same", "same"), "");
});

test("its lines lead from the one text to the other", () => {
  const text = fc.array(fc.constantFrom("a", "b", "c", ""), { minLength: 1, maxLength: 7 });
  fc.assert(
    fc.property(text, text, (before, after) => {
      // Seven lines lie within three of a change, unless there is none or the texts are long.
      const shown = lineDiff(before.join("\n"), after.join("\n")).split("\n");
      if (shown.includes("…") || before.join("\n") === after.join("\n")) return;
      const side = (sign: string) =>
        shown.filter((line) => line[0] === " " || line[0] === sign).map((line) => line.slice(1));
      assert.deepEqual(side("-"), before);
      assert.deepEqual(side("+"), after);
    }),
  );
});

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isOneOff, nearNames } from "./near-names.ts";

/** The textbook edit distance. */
function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, n) => n);
  for (const [at, letter] of Array.from(one).entries()) {
    const next = [at + 1];
    for (const [n, otherLetter] of Array.from(other).entries())
      next.push(
        Math.min(
          (row[n + 1] ?? 0) + 1,
          (next[n] ?? 0) + 1,
          (row[n] ?? 0) + (letter === otherLetter ? 0 : 1),
        ),
      );
    row = next;
  }
  return row[other.length] ?? 0;
}

// Few letters, so that names are often near each other.
const name = fc.string({ unit: fc.constantFrom("a", "b"), minLength: 8, maxLength: 12 });

test("two names are one off exactly when their edit distance is one", () => {
  fc.assert(
    fc.property(name, name, (one, other) => {
      assert.equal(isOneOff(one, other), distance(one, other) === 1);
    }),
  );
});

test("finds a near name exactly when there is one", () => {
  fc.assert(
    fc.property(fc.array(name, { maxLength: 8 }), name, (known, asked) => {
      const found = nearNames(known.map((one) => [one, one] as const)).find(asked);
      const near = known.filter((one) => distance(one, asked) === 1);
      assert.equal(found === null, near.length === 0);
      assert.ok(found === null || near.includes(found));
    }),
  );
});

test("reports nothing for short names, and compares a bounded number of names with the same half", () => {
  assert.equal(nearNames([["readfil", 1]]).find("readfi"), null);
  const many = Array.from({ length: 20_000 }, (_, n) => [`samehalf${n + 100_000}`, n] as const);
  const near = nearNames(many);
  for (const [own] of many) near.find(`${own}x`);
});

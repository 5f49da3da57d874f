import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { matchesGlob } from "./glob.ts";

/** The slow and obvious reading of a glob, to compare with. */
function oracle(pattern: string, text: string): boolean {
  if (pattern === "") return text === "";
  if (pattern.startsWith("*")) {
    return oracle(pattern.slice(1), text) || (text !== "" && oracle(pattern, text.slice(1)));
  }
  return (
    text !== "" &&
    (pattern.startsWith("?") || pattern[0] === text[0]) &&
    oracle(pattern.slice(1), text.slice(1))
  );
}

test("agrees with the obvious definition on short inputs", () => {
  const pattern = fc.stringMatching(/^[ab*?]{0,8}$/);
  const text = fc.stringMatching(/^[ab]{0,8}$/);
  fc.assert(
    fc.property(pattern, text, (p, t) => matchesGlob(p, t) === oracle(p, t)),
    { numRuns: 3_000 },
  );
});

test("matches the whole text and minds case", () => {
  assert.equal(matchesGlob("read_*", "read_file"), true);
  assert.equal(matchesGlob("read_*", "Read_file"), false);
  assert.equal(matchesGlob("read", "read_file"), false);
  assert.equal(matchesGlob("a.c", "abc"), false);
});

test("answers a pattern of many stars without exploding", () => {
  // An exponential matcher would not come back from this one at all.
  assert.equal(matchesGlob(`${"a*".repeat(40)}b`, "a".repeat(5_000)), false);
});

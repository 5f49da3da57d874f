import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { splitArguments } from "./split-arguments.ts";

for (const [line, words, hasOpenQuote] of [
  ["", [], false],
  ["  a \t b\n", ["a", "b"], false],
  [`'a b' "c d"`, ["a b", "c d"], false],
  [`pre'a b'post`, ["prea bpost"], false],
  [`'' ""`, ["", ""], false],
  [String.raw`a\ b \' "x\"y\\z\n"`, ["a b", "'", String.raw`x"y\z\n`], false],
  [String.raw`'a\b'`, [String.raw`a\b`], false],
  ["don't stop", ["don't", "stop"], true],
  [`say "hi there`, ["say", `"hi`, "there"], true],
  ["end\\", ["end\\"], false],
] as const) {
  test(`splits ${JSON.stringify(line)} [D27]`, () => {
    assert.deepEqual(splitArguments(line), { words: [...words], hasOpenQuote });
  });
}

test("returns any words that were quoted", () => {
  fc.assert(
    fc.property(fc.array(fc.string()), (words) => {
      const line = words.map((word) => `"${word.replaceAll(/["\\]/g, String.raw`\$&`)}"`).join(" ");
      assert.deepEqual(splitArguments(line), { words, hasOpenQuote: false });
    }),
  );
});

test("never throws and never makes up text", () => {
  fc.assert(
    fc.property(fc.string(), (line) => {
      const { words } = splitArguments(line);
      assert(words.join("").length <= line.length);
    }),
  );
});

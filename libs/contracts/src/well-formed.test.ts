import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { toJson, wellFormedJson } from "./well-formed.ts";

test("half a surrogate pair becomes the replacement character, in values and in names", () => {
  assert.equal(
    toJson({ "a\ud83d": ["b\udc00", "\ud83d\ud83d"] }),
    '{"a\\ufffd":["b\\ufffd","\\ufffd\\ufffd"]}',
  );
  assert.equal(wellFormedJson('"\\uD83D x \\uDE00"'), '"\\ufffd x \\ufffd"');
});

test("pairs, other escapes and backslashes stay as they are", () => {
  for (const json of [
    '"😀"',
    '"\\ud83d\\ude00"',
    '"\\uD83D\\uDE00"',
    '"\\\\ud83d"',
    '"\\n\\u00e4\\""',
  ])
    assert.equal(wellFormedJson(json), json);
});

test("what has no JSON has none", () => {
  assert.equal(toJson(undefined), undefined);
});

test("whatever the value, its JSON says the same without halves of pairs", () => {
  const unit = fc.constantFrom("\ud83d", "\ude00", "\\", "u", "d83d", '"', "a", "😀");
  const text = fc.array(unit).map((units) => units.join(""));
  fc.assert(
    fc.property(fc.array(text), (texts) => {
      const wanted = texts.map((one) => one.toWellFormed());
      assert.deepEqual(JSON.parse(toJson(texts)), wanted);
      // A program in another language may write it so: every unit as an escape.
      const escaped = texts.map(
        (one) =>
          `"${Array.from({ length: one.length }, (_, at) => `\\u${one.charCodeAt(at).toString(16).padStart(4, "0")}`).join("")}"`,
      );
      assert.deepEqual(JSON.parse(wellFormedJson(`[${escaped.join(",")}]`)), wanted);
    }),
  );
});

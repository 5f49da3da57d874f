import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { messagePieces } from "./message-pieces.ts";

test("a long text is cut where a person would, and its code stays code", () => {
  assert.deepEqual(messagePieces("one. two. three.", 10), ["one. two.", "three."]);
  assert.deepEqual(messagePieces("```js\nlet alpha = 1;\nlet beta = 2;\n```", 30), [
    "```js\nlet alpha = 1;\n```",
    "```js\nlet beta = 2;\n```",
  ]);
  assert.deepEqual(messagePieces("", 10), [""]);
});

test("no piece ends inside of a user-perceived character", () => {
  const family = "👨‍👩‍👧‍👦";
  for (const piece of messagePieces(family.repeat(20), 40))
    assert.equal(piece.replaceAll(family, ""), "", JSON.stringify(piece));
});

test("whatever the text, pieces fit and are well-formed", () => {
  const part = fc.constantFrom("a", " ", "\n", ". ", "😀", "👨‍👩‍👧", "```\n", "e\u0301", "word");
  const text = fc.array(part, { maxLength: 200 }).map((parts) => parts.join(""));
  fc.assert(
    fc.property(text, fc.integer({ min: 16, max: 60 }), (whole, limit) => {
      for (const piece of messagePieces(whole, limit))
        assert.ok(piece.length <= limit && piece.isWellFormed());
    }),
  );
});

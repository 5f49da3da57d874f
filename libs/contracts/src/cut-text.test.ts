import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { cutBytes, cutForReader, cutText, cutTextStart, graphemeStart } from "./cut-text.ts";

const FAMILY = "👨‍👩‍👧‍👦";

test("a text that fits stays as it is", () => {
  assert.equal(cutText("abc", 3), "abc");
  assert.equal(cutTextStart("abc", 3), "abc");
  assert.equal(cutForReader("abc", 3), "abc");
  assert.equal(cutBytes("äb", 3), "äb");
});

test("a cut keeps as much as fits and no half of a character", () => {
  assert.equal(cutText("ab😀c", 3), "ab");
  assert.equal(cutText("ab😀c", 4), "ab😀");
  assert.equal(cutTextStart("a😀bc", 3), "bc");
  assert.equal(cutTextStart("a😀bc", 4), "😀bc");
  assert.equal(cutBytes("aä€😀", 3), "aä");
  assert.equal(cutBytes("aä€😀", 9), "aä€");
  assert.equal(cutBytes("aä€😀", 10), "aä€😀");
});

test("what a person reads is cut between the characters that they see", () => {
  assert.equal(cutForReader(`ab${FAMILY}cd`, 8), "ab…");
  assert.equal(cutForReader("e\u0301e\u0301e\u0301", 4), "e\u0301…");
  assert.equal(cutForReader("🇩🇪🇫🇷🇮🇹", 7), "🇩🇪…");
  assert.equal(graphemeStart("a\r\nb", 2), 1);
});

test("marks without end leave something of the text", () => {
  const zalgo = `a${"\u0301".repeat(1_000)}`;
  assert.equal(cutForReader(zalgo, 200).length, 200);
});

test("half a pair that a text brings along is replaced", () => {
  assert.equal(cutText("a\ud83d", 2), "a\ufffd");
  assert.equal(cutTextStart("\udc00a", 2), "\ufffda");
  assert.equal(cutForReader("a\ud83d", 2), "a\ufffd");
  assert.equal(cutBytes("a\ud83d", 9), "a\ufffd");
});

test("whatever the text and the limit, a cut is short enough and well-formed", () => {
  const piece = fc.constantFrom("a", "ä", "€", "😀", FAMILY, "\u0301", "\ud83d", "\udc00", "\n");
  const text = fc.array(piece, { maxLength: 200 }).map((pieces) => pieces.join(""));
  fc.assert(
    fc.property(text, fc.nat(300), (whole, limit) => {
      const well = whole.toWellFormed();
      const [start, end] = [cutText(whole, limit), cutTextStart(whole, limit)];
      assert.ok(start.length <= limit && well.startsWith(start) && start.isWellFormed());
      assert.ok(end.length <= limit && well.endsWith(end) && end.isWellFormed());
      assert.ok(Math.min(limit, well.length) - start.length <= 1);
      const bytes = cutBytes(whole, limit);
      assert.ok(Buffer.byteLength(bytes) <= limit && well.startsWith(bytes));
      const read = cutForReader(whole, limit + 1);
      assert.ok(read.length <= limit + 1 && read.isWellFormed());
    }),
    { numRuns: 500 },
  );
});

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { printable, printableJson, printableLine } from "./printable.ts";

test("makes escape sequences visible, so that a tool's text cannot rewrite the terminal", () => {
  assert.equal(
    printable("\u001B[2Jgone\u001B]52;c;eA==\u0007"),
    "\\x1b[2Jgone\\x1b]52;c;eA==\\x07",
  );
});

test("makes bidirectional overrides visible", () => {
  assert.equal(printable("a\u202Eb\u2066"), "a\\x202eb\\x2066");
});

test("keeps newlines and tabs, and reads CRLF as a newline", () => {
  assert.equal(printable("a\tb\r\nc"), "a\tb\nc");
});

test("no text leaves a control character behind", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      assert.doesNotMatch(printable(text), /(?![\t\n])[\p{Cc}\u202A-\u202E\u2066-\u2069]/u);
    }),
  );
});

test("JSON text is safe for a terminal and says the same", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      const json = printableJson({ [text]: text });
      assert.doesNotMatch(json, /[\p{Cc}\u202A-\u202E\u2066-\u2069]/u);
      assert.deepEqual(JSON.parse(json), { [text]: text });
    }),
  );
  assert.equal(printableJson(["\u009b31m"]), '["\\u009b31m"]');
});

test("a line has no newline and at most the asked number of characters", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: "grapheme" }),
      fc.integer({ min: 1, max: 40 }),
      (text, length) => {
        const line = printableLine(text, length);
        assert.ok(!line.includes("\n"));
        assert.ok(Array.from(line).length <= length);
      },
    ),
  );
});

test("makes text visible that a model reads and no terminal shows", () => {
  const hidden = "a\u200bb\u2060c\ufeffd\u{e0041}\u{e0042}e";
  assert.equal(printable(hidden), String.raw`a\x200bb\x2060c\xfeffd\xe0041\xe0042e`);
  for (const text of ["👩\u200d💻", "می\u200cخواهم", "é", "a\tb\n"])
    assert.equal(printable(text), text);
});

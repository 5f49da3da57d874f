import assert from "node:assert/strict";
import { test } from "node:test";
import { ScannedText } from "./scanned-text.ts";
import { sequence } from "./sequence.ts";

const upload = sequence([
  { pattern: /\bcat\b/, within: 0 },
  { pattern: /\|/, within: 20 },
  { pattern: /\bcurl\b/, within: 10 },
]);

function offsets(written: string): number[] {
  return upload(textOf(written), { start: 0, end: written.length });
}

function textOf(written: string): ScannedText {
  return new ScannedText("a.sh", "script", written);
}

test("finds steps that follow each other on one line, each near the one before", () => {
  assert.deepEqual(offsets("cat key | curl x"), [10]);
  assert.deepEqual(offsets("curl x | cat key"), []);
  assert.deepEqual(offsets("cat key\n| curl x"), []);
  assert.deepEqual(offsets(`cat key | ${" ".repeat(10)}curl x`), []);
  // The last of several heads counts, and so does the last of several pipes.
  assert.deepEqual(offsets(`cat ${"x".repeat(40)} cat a | b | curl x`), [57]);
});

test("a forbidden text between the steps ends a sequence", () => {
  const decoded = sequence(
    [
      { pattern: /base64 -d/, within: 0 },
      { pattern: /\| sh\b/, within: 40 },
    ],
    /\|/,
  );
  const found = (written: string) => decoded(textOf(written), { start: 0, end: 100 }).length;
  assert.equal(found("base64 -d x | sh"), 1);
  assert.equal(found("base64 -d x | tee y | sh"), 0);
});

test("a text is read once, however many of its parts are queried", () => {
  const text = textOf("cat key | curl x\n".repeat(100));
  const written = text.text;
  let reads = 0;
  Object.defineProperty(text, "text", {
    get: () => {
      reads += 1;
      return written;
    },
  });
  for (let at = 0; at < 100; at += 1) {
    assert.equal(upload(text, { start: at * 17, end: at * 17 + 17 }).length, 1);
  }
  assert.equal(reads, 1);
});

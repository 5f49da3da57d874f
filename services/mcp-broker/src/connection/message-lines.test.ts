import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { LineTooLongError, MessageLines } from "./message-lines.ts";

test("finds the same lines however the stream is cut into chunks", () => {
  const line = fc
    .string({ unit: "grapheme", maxLength: 40 })
    .filter((text) => !text.includes("\n"));
  fc.assert(
    fc.property(fc.array(line), fc.array(fc.nat(400)), (lines, cuts) => {
      const bytes = Buffer.from(lines.map((text) => `${text}\n`).join(""));
      const splitter = new MessageLines(10_000);
      const bounds = [
        0,
        ...cuts.map((cut) => Math.min(cut, bytes.length)).toSorted((a, b) => a - b),
        bytes.length,
      ];
      const found = bounds
        .slice(1)
        .flatMap((end, index) => splitter.push(bytes.subarray(bounds[index], end)));
      assert.deepEqual(found, lines);
    }),
  );
});

test("keeps the rest of an unfinished line for the next chunk", () => {
  const splitter = new MessageLines(100);
  assert.deepEqual(splitter.push(Buffer.from("one\ntw")), ["one"]);
  assert.deepEqual(splitter.push(Buffer.from("o\n")), ["two"]);
});

test("refuses a line above its limit before it ends", () => {
  const splitter = new MessageLines(8);
  assert.deepEqual(splitter.push(Buffer.from("12345678\n1234")), ["12345678"]);
  assert.throws(() => splitter.push(Buffer.from("56789")), LineTooLongError);
});

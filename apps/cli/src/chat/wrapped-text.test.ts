import assert from "node:assert/strict";
import { test } from "node:test";
import { WrappedText } from "./wrapped-text.ts";

function wrapped(pieces: readonly string[], width: number): string {
  let out = "";
  const text = new WrappedText(
    (part) => void (out += part),
    () => width,
  );
  for (const piece of pieces) text.add(piece);
  text.end();
  return out;
}

test("text in pieces breaks at words and loses nothing", () => {
  assert.equal(wrapped(["one two th", "ree four"], 11), "one two\nthree four\n");
  assert.equal(wrapped(["a\n\n- b  c\n"], 20), "a\n\n- b  c\n");
  assert.equal(wrapped(["x".repeat(30)], 10), `${"x".repeat(30)}\n`);
  assert.equal(wrapped([], 10), "");
});

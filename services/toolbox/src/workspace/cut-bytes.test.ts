import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { cutBytes } from "./cut-bytes.ts";

test("cuts at a number of bytes, never inside a character [ER9]", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), fc.nat(60), (text, limit) => {
      const bytes = Buffer.from(text, "utf8");
      const cut = cutBytes(bytes, limit);
      assert.ok(cut.length <= limit);
      assert.ok(text.startsWith(cut.toString("utf8")));
      assert.ok(cut.length === bytes.length || limit - cut.length < 4);
    }),
  );
});

test("bytes that are not text are cut at the limit", () => {
  const bytes = Buffer.alloc(100, 0b1000_0000);
  assert.equal(cutBytes(bytes, 50).length, 50);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { cutText, cutWithNote } from "./cut-text.ts";

const text = fc.string({ unit: "binary", maxLength: 200 });

test("cuts to the limit, at a character, and keeps what fits", () => {
  fc.assert(
    fc.property(text, fc.integer({ min: 0, max: 300 }), (whole, limit) => {
      const cut = cutText(whole, limit);
      assert.ok(whole.startsWith(cut));
      assert.ok(Buffer.byteLength(cut) <= limit || cut === whole);
      assert.ok(!cut.endsWith("\uFFFD") || whole.includes("\uFFFD"));
      if (cut !== whole) assert.ok(Buffer.byteLength(cut) > limit - 4);
    }),
  );
});

test("says how many bytes are missing", () => {
  assert.equal(cutWithNote("äöü", 6), "äöü");
  assert.equal(cutWithNote("äöü", 5), "äö\n[cut: 2 more bytes are not shown]");
});

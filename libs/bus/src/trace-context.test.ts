import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { childTraceparent, newTraceparent } from "./trace-context.ts";

const VALID = /^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

test("a new trace context is valid and its own", () => {
  const made = Array.from({ length: 1_000 }, () => newTraceparent());
  for (const traceparent of made) assert.match(traceparent, VALID);
  assert.equal(new Set(made).size, made.length);
});

test("a child stays in its parent's trace with its flags, under a span of its own", () => {
  const hex = (length: number): fc.Arbitrary<string> =>
    fc.stringMatching(new RegExp(`^[0-9a-f]{${length}}$`)).filter((digits) => !/^0+$/.test(digits));
  fc.assert(
    fc.property(hex(32), hex(16), fc.constantFrom("00", "01"), (trace, span, flags) => {
      const child = childTraceparent(`00-${trace}-${span}-${flags}`);
      assert.match(child, VALID);
      assert.equal(child.slice(3, 35), trace);
      assert.equal(child.slice(53), flags);
      assert.notEqual(child.slice(36, 52), span);
    }),
  );
});

test("an invalid parent starts a new trace", () => {
  const zeroTrace = `00-${"0".repeat(32)}-b7ad6b7169203331-01`;
  const zeroSpan = `00-0af7651916cd43dd8448eb211c80319c-${"0".repeat(16)}-01`;
  for (const parent of [undefined, "", "nonsense", zeroTrace, zeroSpan]) {
    const made = childTraceparent(parent);
    assert.match(made, VALID);
    assert.notEqual(made.slice(3, 35), parent?.slice(3, 35));
  }
});

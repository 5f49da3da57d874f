import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { canonicalDigest, canonicalJson } from "./canonical-json.ts";
import { Digest } from "./ids.ts";

test("says the same value as JSON does", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      assert.deepEqual(JSON.parse(canonicalJson(value)), JSON.parse(JSON.stringify(value)));
    }),
  );
});

test("does not mind the order of keys", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
      const reversed = Object.fromEntries(Object.entries(value).toReversed());
      assert.equal(canonicalJson(reversed), canonicalJson(value));
      assert.equal(canonicalDigest(reversed), canonicalDigest(value));
    }),
  );
});

test("tells values apart that only look alike", () => {
  const texts = [[1], ["1"], { 0: 1 }, null, "null", { a: null }, {}].map(canonicalJson);
  assert.equal(new Set(texts).size, texts.length);
});

test("writes a key named __proto__ and leaves out what is undefined", () => {
  assert.equal(canonicalJson(JSON.parse('{"__proto__":1}')), '{"__proto__":1}');
  assert.equal(canonicalJson({ b: undefined, a: 1 }), '{"a":1}');
  assert.ok(Digest.safeParse(canonicalDigest({})).success);
});

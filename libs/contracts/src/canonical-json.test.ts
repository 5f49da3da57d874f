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

test("distinguishes values that only look alike", () => {
  const texts = [[1], ["1"], { 0: 1 }, null, "null", { a: null }, {}].map(canonicalJson);
  assert.equal(new Set(texts).size, texts.length);
});

test("writes a key named __proto__ and leaves out what is undefined", () => {
  assert.equal(canonicalJson(JSON.parse('{"__proto__":1}')), '{"__proto__":1}');
  assert.equal(canonicalJson({ b: undefined, a: 1 }), '{"a":1}');
  assert.ok(Digest.safeParse(canonicalDigest({})).success);
});

test("sorts every level by code units, also keys that look like numbers, and many", () => {
  const value = {
    b: [{ z: 1, a: { 10: 1, 9: 2, "!": 3 } }],
    a: { é: 1, e: 2, "😀": 3, "\uFFFD": 4 },
  };
  const text = '{"a":{"e":2,"é":1,"😀":3,"\uFFFD":4},"b":[{"a":{"!":3,"10":1,"9":2},"z":1}]}';
  assert.equal(canonicalJson(value), text);
  const many = Array.from({ length: 100 }, (_, n) => [`k${n}`, n] as const);
  const expected = many.toSorted(([one], [other]) => (one < other ? -1 : 1));
  assert.equal(
    canonicalJson(Object.fromEntries(many)),
    `{${expected.map(([key, n]) => `"${key}":${n}`).join(",")}}`,
  );
});

test("leaves the value as it is", () => {
  const value = { b: 1, a: [{ d: 1, c: 2 }] };
  canonicalJson(value);
  assert.equal(JSON.stringify(value), '{"b":1,"a":[{"d":1,"c":2}]}');
});

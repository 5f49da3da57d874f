import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { canonicalJson, digestOf } from "./canonical-json.ts";

test("writes equal values alike, whatever the order of their keys", () => {
  assert.equal(
    canonicalJson({ b: [1, { d: null, c: "x" }], a: true }),
    '{"a":true,"b":[1,{"c":"x","d":null}]}',
  );
  assert.equal(digestOf({ a: 1, b: undefined }), digestOf({ a: 1 }));
  assert.notEqual(digestOf({ a: 1 }), digestOf({ a: "1" }));
});

test("is JSON of the same value", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const again: unknown = JSON.parse(JSON.stringify(value));
      assert.deepEqual(JSON.parse(canonicalJson(again)), again);
    }),
  );
});

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { followPointer, pointerOf } from "./json-pointer.ts";

test("follows the examples of RFC 6901", () => {
  const document = {
    foo: ["bar", "baz"],
    "": 0,
    "a/b": 1,
    "c%d": 2,
    "m~n": 8,
  };
  const expected: [string, unknown][] = [
    ["", document],
    ["/foo", ["bar", "baz"]],
    ["/foo/0", "bar"],
    ["/", 0],
    ["/a~1b", 1],
    ["/c%d", 2],
    ["/m~0n", 8],
  ];
  for (const [pointer, value] of expected) {
    assert.deepEqual(followPointer(document, pointer), { found: true, value }, pointer);
  }
});

test("says at which token the way ends", () => {
  const document = { list: ["a"], text: "abc" };
  const missing: [string, string][] = [
    ["/nothing/here", "nothing"],
    ["/list/1", "1"],
    ["/list/01", "01"],
    ["/list/-", "-"],
    ["/list/length", "length"],
    ["/text/0", "0"],
    ["/__proto__", "__proto__"],
    ["/constructor/name", "constructor"],
    ["text", "text"],
  ];
  for (const [pointer, token] of missing) {
    assert.deepEqual(followPointer(document, pointer), { found: false, missing: token }, pointer);
  }
});

test("finds every value of a document under the pointer of its keys", () => {
  const keys = fc.array(fc.string(), { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(keys, fc.jsonValue(), (path, leaf) => {
      const document = path.reduceRight<unknown>(
        (value, key) => Object.fromEntries([[key, value]]),
        leaf,
      );
      assert.deepEqual(followPointer(document, pointerOf(path)), { found: true, value: leaf });
    }),
  );
});

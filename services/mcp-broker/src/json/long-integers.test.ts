import assert from "node:assert/strict";
import { test } from "node:test";
import {
  hasLongInteger,
  isLongInteger,
  roundedIntegers,
  withLongIntegers,
} from "./long-integers.ts";

test("a long integer is a text of digits that no number holds", () => {
  for (const text of ["1915883588174806058", "-9007199254740993"]) assert.ok(isLongInteger(text));
  for (const text of ["9007199254740991", "1", "", "1e20", "0000000000000000001", 5, null])
    assert.ok(!isLongInteger(text), String(text));
});

test("an integer that was rounded when it was read is found by its pointer", () => {
  const value: unknown = JSON.parse(
    `{"a":[1915883588174806058],"b/c":-9007199254740993,"d":9007199254740991,"e":1e300,"f":0.5}`,
  );
  assert.deepEqual(roundedIntegers(value).toSorted(byText), ["/a/0", "/b~1c"]);
});

test("long integers are written with their digits, and everything else as it was", () => {
  const args = { a: { b: ["1915883588174806058", "x"] }, c: "1915883588174806058" };
  assert.ok(hasLongInteger(args, "/a/b/0"));
  assert.ok(!hasLongInteger(args, "/a/b/1") && !hasLongInteger(args, "/a/x"));
  assert.equal(
    JSON.stringify(withLongIntegers(args, ["/a/b/0", "/none/0"])),
    `{"a":{"b":[1915883588174806058,"x"]},"c":"1915883588174806058"}`,
  );
  assert.equal(withLongIntegers(args, []), args);
});

function byText(a: string, b: string): number {
  return a < b ? -1 : 1;
}

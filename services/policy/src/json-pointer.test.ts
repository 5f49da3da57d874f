import assert from "node:assert/strict";
import { test } from "node:test";
import { locate, parsePointer } from "./json-pointer.ts";

function find(document: unknown, pointer: string) {
  const tokens = parsePointer(pointer);
  assert.ok(tokens !== null, `${pointer} is a pointer`);
  return locate(document, tokens);
}

test("a pointer finds members, entries and escaped names", () => {
  const document = { a: { "b/c": [10, { "~d": null }] }, "": 1 };
  assert.deepEqual(find(document, "/a/b~1c/0"), { kind: "found", value: 10 });
  assert.deepEqual(find(document, "/a/b~1c/1/~0d"), { kind: "found", value: null });
  assert.deepEqual(find(document, "/"), { kind: "found", value: 1 });
});

test("an escaped tilde is not unescaped twice", () => {
  assert.deepEqual(find({ "~1": "tilde one", "/": "slash" }, "/~01"), {
    kind: "found",
    value: "tilde one",
  });
});

test("what is not a pointer is refused, the empty one included", () => {
  for (const pointer of ["", "path", "a/b", "/a~", "/a~2", "#/a"]) {
    assert.equal(parsePointer(pointer), null, pointer);
  }
});

test("inherited members are missing", () => {
  for (const name of ["constructor", "__proto__", "toString", "hasOwnProperty"]) {
    assert.deepEqual(find({}, `/${name}`), { kind: "missing" }, name);
  }
  const hostile: unknown = JSON.parse('{"__proto__": {"admin": true}}');
  assert.deepEqual(find(hostile, "/admin"), { kind: "missing" });
  assert.deepEqual(find(hostile, "/__proto__/admin"), { kind: "found", value: true });
});

test("array entries are reached by index alone", () => {
  assert.deepEqual(find({ list: [1] }, "/list/1"), { kind: "missing" });
  for (const token of ["-", "00", "1e0", "length", "-1"]) {
    assert.deepEqual(find({ list: [1, 2] }, `/list/${token}`), { kind: "blocked" }, token);
  }
});

test("nothing lies below a text, a number or null", () => {
  for (const value of ["text", 5, true, null]) {
    assert.deepEqual(find({ options: value }, "/options/force"), { kind: "blocked" });
  }
  assert.deepEqual(find({ options: "text" }, "/options/length"), { kind: "blocked" });
});

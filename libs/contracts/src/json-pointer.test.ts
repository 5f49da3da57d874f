import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { locate, parsePointer, pointerToken } from "./json-pointer.ts";

function find(document: unknown, pointer: string) {
  const tokens = parsePointer(pointer);
  assert.ok(tokens !== null, `${pointer} is a pointer`);
  return locate(document, tokens);
}

test("finds a value by its path, as the examples of RFC 6901 [D31, D63]", () => {
  const document = { foo: ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "m~n": 8 };
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
    assert.deepEqual(find(document, pointer), { kind: "found", value }, pointer);
  }
});

test("an escaped tilde is not unescaped twice", () => {
  const found = find({ "~1": "tilde one", "/": "slash" }, "/~01");
  assert.deepEqual(found, { kind: "found", value: "tilde one" });
});

test("what is not a pointer is refused", () => {
  for (const pointer of ["path", "a/b", "/a~", "/a~2", "#/a"]) {
    assert.equal(parsePointer(pointer), null, pointer);
  }
});

test("says where a path leads nowhere; inherited members are missing [D31, D63]", () => {
  for (const name of ["constructor", "__proto__", "toString", "hasOwnProperty"]) {
    assert.deepEqual(find({}, `/${name}`), { kind: "missing", at: name }, name);
  }
  const hostile: unknown = JSON.parse('{"__proto__": {"admin": true}}');
  assert.deepEqual(find(hostile, "/admin"), { kind: "missing", at: "admin" });
  assert.deepEqual(find(hostile, "/__proto__/admin"), { kind: "found", value: true });
});

test("array entries are reached by index alone", () => {
  assert.deepEqual(find({ list: [1] }, "/list/1"), { kind: "missing", at: "1" });
  for (const token of ["-", "00", "1e0", "length", "-1"]) {
    const blocked = { kind: "blocked", at: token };
    assert.deepEqual(find({ list: [1, 2] }, `/list/${token}`), blocked, token);
  }
});

test("nothing lies below a text, a number or null", () => {
  for (const value of ["text", 5, true, null]) {
    const blocked = { kind: "blocked", at: "length" };
    assert.deepEqual(find({ options: value }, "/options/length"), blocked);
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
      const pointer = path.map((key) => `/${pointerToken(key)}`).join("");
      assert.deepEqual(find(document, pointer), { kind: "found", value: leaf });
    }),
  );
});

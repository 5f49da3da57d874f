import assert from "node:assert/strict";
import { test } from "node:test";
import { coerceArguments } from "./coerce-arguments.ts";

const schema = {
  type: "object",
  properties: {
    n: { type: "number" },
    i: { type: ["integer", "null"] },
    b: { type: "boolean" },
    s: { type: "string" },
    list: { type: "array", items: { type: "integer" } },
    map: { type: "object", properties: { n: { type: "number" } } },
    any: {},
  },
};

test("texts become the values that their schema requires", () => {
  const args = { n: "3.5", i: "4", b: "True", s: "5", list: '["1",2]', map: '{"n":"6"}', any: "7" };
  assert.deepEqual(coerceArguments(args, schema), {
    n: 3.5,
    i: 4,
    b: true,
    s: "5",
    list: [1, 2],
    map: { n: 6 },
    any: "7",
  });
  assert.deepEqual(coerceArguments({ i: "null" }, schema), { i: null });
});

test("a text that is not clearly the required value stays, and so does the object when nothing changes", () => {
  for (const args of [
    { n: "three" },
    { n: "" },
    { i: "4.5" },
    { i: "1915883588174806058" },
    { b: "yes" },
    { list: "[1" },
    { map: "[1]" },
    { n: 3, more: "4" },
  ])
    assert.equal(coerceArguments(args, schema), args);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { changesBetween, mergePatch, valueOfKey, withChange } from "./config-changes.ts";

test("a merge patch takes away with null and merges lists by id [F33]", () => {
  const before = { a: 1, b: { c: 2, d: 3 }, list: [{ id: "x", n: 1 }, { id: "y" }] };
  const patch = { a: null, b: { c: 4 }, list: [{ id: "x", n: 2 }] };
  const wanted = mergePatch(before, patch);
  assert.deepEqual(wanted, { b: { c: 4, d: 3 }, list: [{ id: "x", n: 2 }, { id: "y" }] });
  assert.deepEqual(changesBetween(before, wanted), [
    { path: ["a"], value: undefined },
    { path: ["b", "c"], value: 4 },
    { path: ["list", "0", "n"], value: 2 },
  ]);
  assert.deepEqual(changesBetween(before, mergePatch(before, {})), []);
});

test("a list that became longer, and an object that went, are one change", () => {
  assert.deepEqual(changesBetween({ l: [{ id: 1 }] }, { l: [{ id: 1 }, { id: 2 }] }), [
    { path: ["l"], value: [{ id: 1 }, { id: 2 }] },
  ]);
  assert.deepEqual(changesBetween({ o: { a: 1 } }, {}), [{ path: ["o"], value: undefined }]);
  assert.deepEqual(changesBetween({}, { o: {} }), [{ path: ["o"], value: {} }]);
});

test("names that every object inherits are ordinary names", () => {
  const patch = JSON.parse('{"__proto__": {"polluted": 1}}');
  const merged = mergePatch({}, patch);
  assert.deepEqual(changesBetween({}, merged), [{ path: ["__proto__", "polluted"], value: 1 }]);
  withChange({}, { path: ["__proto__", "polluted"], value: 1 });
  assert.equal(Object.hasOwn(Object.prototype, "polluted"), false);
  assert.equal(valueOfKey({}, "constructor.name"), undefined);
});

test("a dot path finds names with dots in them [F31]", () => {
  const config = { models: { "openai/gpt-4.1": { fallbacks: ["a/b"] } } };
  assert.deepEqual(valueOfKey(config, "models.openai/gpt-4.1.fallbacks.0"), "a/b");
  assert.equal(valueOfKey(config, "models.openai/gpt-4"), undefined);
});

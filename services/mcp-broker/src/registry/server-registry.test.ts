import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { mergeDeclaration } from "./server-registry.ts";

const before = {
  id: "a",
  command: "x",
  args: ["1", "2"],
  env: { A: "1", B: "2" },
};

test("a value replaces a field, null takes it out, env is changed key by key [A34]", () => {
  const changes = { args: ["3"], command: null, env: { A: null, C: "3" }, url: "http://a" };
  assert.deepEqual(mergeDeclaration(before, changes), {
    id: "a",
    args: ["3"],
    env: { B: "2", C: "3" },
    url: "http://a",
  });
  assert.deepEqual(mergeDeclaration(before, { env: null }), {
    id: "a",
    command: "x",
    args: ["1", "2"],
  });
});

test("keeps the id, whatever the changes contain", () => {
  assert.equal(mergeDeclaration(before, { id: "b" })["id"], "a");
  assert.equal(mergeDeclaration(before, { id: null })["id"], "a");
});

test("the same changes twice are the same as once, and the original stays as it is", () => {
  const options = { noNullPrototype: true };
  const inner = fc.dictionary(fc.string(), fc.option(fc.string()), options);
  const value = fc.oneof(fc.string(), fc.constant(null), inner);
  const record = fc.dictionary(fc.constantFrom("env", "headers", "args", "url"), value, options);
  fc.assert(
    fc.property(record, record, (declaration, changes) => {
      const copy = structuredClone(declaration);
      const once = mergeDeclaration(declaration, changes);
      assert.deepEqual(mergeDeclaration(once, changes), once);
      assert.deepEqual(declaration, copy);
    }),
  );
});

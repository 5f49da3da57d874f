import assert from "node:assert/strict";
import { test } from "node:test";
import { problemOfSchema, problemsOfAnswer } from "./output-schema.ts";

test("an answer is held against its own schema, however many schemas were used before", () => {
  const schemas = Array.from({ length: 105 }, (_, maximum) => ({ type: "integer", maximum }));
  // The first ones are used again when they are not known any more.
  for (const schema of [...schemas, ...schemas.slice(0, 5)]) {
    const at = `maximum ${schema.maximum}`;
    assert.equal(problemOfSchema(structuredClone(schema)), null, at);
    assert.deepEqual(problemsOfAnswer(structuredClone(schema), schema.maximum), [], at);
    assert.equal(problemsOfAnswer(structuredClone(schema), schema.maximum + 1).length, 1, at);
  }
});

test("schemas of one name are different schemas", () => {
  const text = { $id: "https://example.com/answer", type: "string" };
  const number = { $id: "https://example.com/answer", type: "number" };
  assert.deepEqual(problemsOfAnswer(text, "yes"), []);
  assert.deepEqual(problemsOfAnswer(number, 1), []);
  assert.equal(problemsOfAnswer(text, 1).length, 1);
});

test("an answer that cannot be compared does not fit", () => {
  const schema = { enum: [{ a: 1 }] };
  assert.deepEqual(problemsOfAnswer(schema, { a: 1 }), []);
  assert.match(problemsOfAnswer(schema, { toString: null })[0] ?? "", /toString or valueOf/);
  assert.match(problemsOfAnswer(schema, { valueOf: 1 })[0] ?? "", /toString or valueOf/);
});

test("a schema that cannot be used is refused each time", () => {
  for (const _ of [1, 2]) {
    assert.match(problemOfSchema({ type: "no such type" }) ?? "", /type/);
    assert.match(problemOfSchema({ type: "string", pattern: "a+" }) ?? "", /pattern/);
  }
});

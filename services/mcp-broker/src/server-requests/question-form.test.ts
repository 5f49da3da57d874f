import assert from "node:assert/strict";
import { test } from "node:test";
import type { AnswerContent } from "@switchyard/contracts/mcp-broker/mcp-questions";
import fc from "fast-check";
import { contentProblems, readForm } from "./question-form.ts";

const SCHEMA = {
  type: "object",
  properties: {
    name: { type: "string", minLength: 2, maxLength: 20 },
    email: { type: "string", format: "email" },
    born: { type: "string", format: "date" },
    age: { type: "integer", minimum: 0, maximum: 150 },
    share: { type: "number" },
    agreed: { type: "boolean" },
    friend: { type: "string", enum: ["Ross", "Joey"] },
    hero: { type: "string", oneOf: [{ const: "h1", title: "Superman" }] },
    fish: {
      type: "array",
      minItems: 1,
      maxItems: 2,
      items: { anyOf: [{ const: "f1", title: "Tuna" }, { const: "f2" }] },
    },
  },
  required: ["name"],
};

function formOf(schema: unknown) {
  const read = readForm(schema);
  assert.ok("form" in read, JSON.stringify(read));
  return read.form;
}

test("an answer with a fitting value for each kind of field is taken", () => {
  const content: AnswerContent = {
    name: "Ada",
    email: "ada@example.com",
    born: "1815-12-10",
    age: 36,
    share: 0.5,
    agreed: true,
    friend: "Ross",
    hero: "h1",
    fish: ["f1", "f2"],
  };
  assert.deepEqual(contentProblems(formOf(SCHEMA), content), []);
  assert.deepEqual(contentProblems(formOf(SCHEMA), { name: "Ada" }), []);
});

test("each field that does not fit is named with what it wants, and no value is repeated", () => {
  const content: AnswerContent = {
    name: "A",
    email: "hunter2",
    born: "yesterday",
    age: 1.5,
    share: "much",
    agreed: "yes",
    friend: "Monica",
    hero: "h9",
    fish: [],
    password: "hunter2",
  };
  const problems = contentProblems(formOf(SCHEMA), content);
  assert.deepEqual(problems, [
    '"password" is not a field of this question',
    "name must be a text (at least 2, at most 20 characters)",
    "email must be a text with the format email",
    "born must be a text with the format date",
    "age must be a whole number (at least 0, at most 150)",
    "share must be a number",
    "agreed must be true or false",
    "friend must be one of: Ross, Joey",
    "hero must be one of: h1",
    "fish must be a list of some of: f1, f2 (at least 1, at most 2 entries)",
  ]);
  assert.equal(problems.join().includes("hunter2"), false);
  assert.deepEqual(contentProblems(formOf(SCHEMA), {}), ["name is required"]);
});

test("a schema that no form can show is refused: nested objects, unknown kinds, too many fields", () => {
  const deep = { type: "object", properties: { a: { type: "object", properties: {} } } };
  assert.match(JSON.stringify(readForm(deep)), /no kind that a form can have/);
  assert.match(JSON.stringify(readForm({ type: "array" })), /not an object schema/);
  assert.match(JSON.stringify(readForm(null)), /not an object schema/);
  const missing = { type: "object", properties: {}, required: ["a"] };
  assert.match(JSON.stringify(readForm(missing)), /does not have/);
  const many = Object.fromEntries(
    Array.from({ length: 65 }, (_, i) => [`f${i}`, { type: "boolean" }]),
  );
  assert.match(JSON.stringify(readForm({ type: "object", properties: many })), /too many/);
});

test("whatever a server sends as a schema or a person as an answer is judged and never thrown", () => {
  fc.assert(
    fc.property(
      fc.jsonValue(),
      fc.dictionary(fc.string(), fc.oneof(fc.string(), fc.double(), fc.boolean())),
      (schema, content) => {
        const read = readForm({ type: "object", properties: { a: schema } });
        if ("form" in read) contentProblems(read.form, content);
        readForm(schema);
      },
    ),
  );
});

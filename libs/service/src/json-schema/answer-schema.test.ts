import assert from "node:assert/strict";
import { test } from "node:test";
import { problemOfSchema, problemsOfAnswer } from "./answer-schema.ts";

type Schema = Record<string, unknown>;
const fits = (schema: Schema, value: unknown): boolean => {
  assert.equal(problemOfSchema(schema), null);
  return problemsOfAnswer(schema, value).length === 0;
};

test("an answer is held against its own schema, however many schemas were used before", () => {
  const schemas = Array.from({ length: 105 }, (_, maximum) => ({ type: "integer", maximum }));
  // The first ones are used again after they were dropped from the cache.
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

test("an answer whose members have the names of methods is compared as JSON", () => {
  const schema = { enum: [{ a: 1 }] };
  assert.ok(fits(schema, { a: 1 }));
  assert.ok(!fits(schema, { toString: null }));
  assert.ok(!fits(schema, { valueOf: 1 }));
});

test("definitions, references, recursion, alternatives and patterns are checked", () => {
  const $defs = {
    Node: {
      type: "object",
      properties: {
        name: { type: "string", pattern: "^[a-z]+$" },
        children: { type: "array", items: { $ref: "#/$defs/Node" } },
        size: { anyOf: [{ type: "integer", minimum: 1 }, { type: "null" }], default: null },
      },
      required: ["name", "children"],
      additionalProperties: false,
    },
  };
  // Pydantic writes a model that contains itself in this form.
  const schema = { $ref: "#/$defs/Node", $defs };
  const leaf = { name: "leaf", children: [], size: null };
  assert.ok(fits(schema, { name: "root", children: [leaf, { ...leaf, size: 3 }] }));
  const wrong = { name: "root", children: [{ ...leaf, children: [{ ...leaf, name: "Leaf" }] }] };
  assert.deepEqual(problemsOfAnswer(schema, wrong), [
    "/children/0/children/0/name: text like ^[a-z]+$",
  ]);
  assert.ok(!fits(schema, { ...leaf, size: 0 }));
});

test("formats are checked", () => {
  const texts: readonly [string, readonly string[], readonly string[]][] = [
    [
      "date-time",
      ["2026-11-27T10:00:00Z", "2024-02-29t00:00:00.5+01:00"],
      ["2026-11-27", "2026-02-30T10:00:00Z"],
    ],
    ["date", ["2024-02-29"], ["2026-02-29", "2026-13-01", "27.11.2026"]],
    ["time", ["10:00:00Z"], ["25:00:00Z", "10:00"]],
    ["duration", ["P1D", "PT36H", "P1Y2M3DT4H5M6.5S", "P2W"], ["P", "PT", "1D", "P1H"]],
    ["email", ["a@example.com"], ["a", "a@b@c", "a b@example.com"]],
    ["hostname", ["example.com"], ["-a.com", "a..b", `${"a".repeat(64)}.com`]],
    ["ipv4", ["127.0.0.1"], ["127.0.0.256"]],
    ["ipv6", ["::1"], ["127.0.0.1"]],
    ["uuid", ["123e4567-e89b-12d3-a456-426614174000"], ["123e4567"]],
    ["uri", ["https://example.com/a"], ["example.com", "/a"]],
  ];
  for (const [format, good, bad] of texts) {
    for (const text of good) assert.ok(fits({ format }, text), `${format} ${text}`);
    for (const text of bad) assert.ok(!fits({ format }, text), `${format} ${text}`);
    // A format that is not linear would stop the test here.
    for (const part of ["1", "a.", "@", "P1", " "]) fits({ format }, part.repeat(200_000));
  }
});

test("a keyword that cannot be checked is refused by its path, each time", () => {
  const at = (schema: Schema) => ({ type: "object", properties: { a: schema } });
  const refused: readonly [Schema, RegExp][] = [
    [{ type: "no such type" }, /^\/type: /],
    [at({ pattern: "^(?=a)" }), /^\/properties\/a\/pattern: .*look-around/],
    [at({ pattern: "(a)\\1" }), /^\/properties\/a\/pattern: /],
    [at({ patternProperties: { "(?!a)": {} } }), /^\/properties\/a\/patternProperties\//],
    [at({ $ref: "https://example.com/a.json" }), /^\/properties\/a\/\$ref: /],
    [at({ $ref: "#/$defs/missing" }), /^\/properties\/a\/\$ref: /],
    [at({ $dynamicRef: "#a" }), /^\/properties\/a\/\$dynamicRef: /],
    [at({ format: "shoe-size" }), /^\/properties\/a\/format: .*date-time/],
    [at({ minimumLength: 3 }), /^\/properties\/a\/minimumLength: /],
    [at({ items: { minItems: "3" } }), /^\/properties\/a\/items\/minItems: /],
  ];
  for (const [schema, problem] of [...refused, ...refused])
    assert.match(problemOfSchema(schema) ?? "", problem);
});

test("annotations of Pydantic, zod and OpenAPI are no reason to refuse a schema", () => {
  const kind = (name: string) => ({ type: "object", properties: { kind: { const: name } } });
  const schema = {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Pet",
    oneOf: [kind("cat"), kind("dog")],
    discriminator: { propertyName: "kind", mapping: {} },
    examples: [{ kind: "cat" }],
    "x-order": 1,
    $comment: "none",
  };
  assert.ok(fits(schema, { kind: "cat" }));
  assert.ok(!fits(schema, { kind: "cow" }));
});

test("a reference that leads back to itself in place is refused, and one through a property is not", () => {
  const $defs = {
    a: { anyOf: [{ type: "null" }, { $ref: "#/$defs/b" }] },
    b: { $ref: "#/$defs/a" },
  };
  for (const schema of [
    { $ref: "#" },
    { properties: { a: { $ref: "#/$defs/a" } }, $defs },
    { dependentSchemas: { a: { $ref: "#" } } },
    { not: { $ref: "#" } },
  ])
    assert.match(problemOfSchema(schema) ?? "", /leads back to itself/);
  assert.equal(problemOfSchema({ properties: { a: { $ref: "#" } } }), null);
});

test("a pattern that stops a backtracking engine does not stop the check", () => {
  const schema = { type: "string", pattern: "^(a+)+$" };
  assert.ok(!fits(schema, `${"a".repeat(50_000)}!`));
});

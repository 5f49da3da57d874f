import assert from "node:assert/strict";
import { test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { compileSchema } from "./compile-schema.ts";
import { prepareSchema } from "./prepare-schema.ts";

const fits = (schema: Record<string, unknown>, value: unknown): boolean =>
  compileSchema(schema)(value).length === 0;
const notes = (schema: Record<string, unknown>): string[] => {
  const prepared = prepareSchema(schema);
  return prepared.kind === "ready" ? prepared.notes.map(({ where }) => where) : [prepared.reason];
};

test("says where arguments do not fit and what is expected there, and repeats no value", () => {
  const validate = compileSchema({
    type: "object",
    properties: {
      path: { type: "string", pattern: "^/", minLength: 2 },
      "a/b": { enum: ["x", "y"] },
      count: { type: "integer", maximum: 9 },
    },
    required: ["path"],
    additionalProperties: false,
  });
  assert.deepEqual(validate({ path: "/x", "a/b": "y", count: 3 }), []);
  assert.deepEqual(validate({}), [{ pointer: "/path", expected: "is required" }]);
  assert.deepEqual(validate({ path: "hunter2" }), [{ pointer: "/path", expected: "text like ^/" }]);
  assert.deepEqual(validate({ path: "/x", "a/b": "hunter2" }), [
    { pointer: "/a~1b", expected: 'one of ["x","y"]' },
  ]);
  assert.deepEqual(validate({ path: "/x", count: 10 }), [{ pointer: "/count", expected: "<= 9" }]);
  assert.deepEqual(validate({ path: "/x", other: "hunter2" }), [
    { pointer: "/other", expected: "is not a known property" },
  ]);
  assert.deepEqual(validate({ path: 7 }), [{ pointer: "/path", expected: "string, not number" }]);
});

test("agrees with the compiler alone on schemas that need no care", () => {
  const leaf = fc.oneof(
    fc.record({ type: fc.constantFrom("string", "number", "boolean", "null") }),
    fc.record({ enum: fc.uniqueArray(fc.jsonValue(), { minLength: 1, maxLength: 3 }) }),
    fc.record({ minLength: fc.nat(3), maxLength: fc.integer({ min: 1, max: 5 }) }),
    fc.record({ uniqueItems: fc.boolean(), items: fc.record({ type: fc.constant("number") }) }),
    fc.record({ pattern: fc.constantFrom("^a", "b$", "[0-9]+", "x|y") }),
  );
  const { schema } = fc.letrec((tie) => ({
    schema: fc.oneof(
      { maxDepth: 3 },
      leaf,
      fc.record({ properties: fc.dictionary(fc.constantFrom("a", "b"), tie("schema")) }),
      fc.record({ anyOf: fc.array(tie("schema"), { minLength: 1, maxLength: 3 }) }),
      fc.record({ additionalProperties: tie("schema"), required: fc.subarray(["a", "b"]) }),
    ),
  }));
  const reference = new Ajv2020({ strict: false, logger: false, ownProperties: true });
  const value = fc.oneof(
    fc.jsonValue(),
    fc.dictionary(fc.constantFrom("a", "b", "c"), fc.jsonValue()),
    fc.array(fc.oneof(fc.nat(2), fc.string({ unit: "grapheme", maxLength: 6 }))),
    fc.string({ unit: "grapheme", maxLength: 6 }),
  );
  fc.assert(
    fc.property(schema, value, (...drawn) => {
      // The values have the form of messages from the bus, and the first is an object.
      const [object, candidate] = JSON.parse(JSON.stringify(drawn)) as [object, unknown];
      // The compiler alone calls what a value has under these names.
      fc.pre(!/"(?:toString|valueOf|constructor)":/.test(JSON.stringify([object, candidate])));
      assert.equal(fits({ ...object }, candidate), reference.validate(object, candidate));
    }),
    { numRuns: 500 },
  );
});

test("compares objects and lists as JSON, whatever their members are called", () => {
  const odd = { toString: null, valueOf: 1, constructor: {} };
  const allowed = { enum: [{ a: [1, { b: 2 }] }, [1, 2], odd, "x"] };
  for (const value of [{ a: [1, { b: 2 }] }, [1, 2], structuredClone(odd), "x"])
    assert.equal(fits(allowed, value), true);
  for (const value of [{}, { toString: null }, { valueOf: 1 }, [2, 1], { a: [1, { b: 3 }] }, "y"])
    assert.equal(fits(allowed, value), false);
  assert.equal(fits({ const: odd }, structuredClone(odd)), true);
  assert.equal(fits({ const: { a: 1, b: 2 } }, { b: 2, a: 1 }), true);
  const inside = { properties: { a: { const: { b: 1 } } } };
  assert.deepEqual(compileSchema(inside)({ a: { toString: null } }), [
    { pointer: "/a", expected: 'one of [{"b":1}]' },
  ]);
});

test("reads draft-07 lists, dependencies and references as draft-07 does", () => {
  const draft7 = (rest: object) => ({
    $schema: "http://json-schema.org/draft-07/schema#",
    ...rest,
  });
  const list = draft7({ items: [{ type: "string" }], additionalItems: { type: "number" } });
  assert.equal(fits(list, ["a", 1]), true);
  assert.equal(fits(list, ["a", "b"]), false);
  const depends = draft7({ dependencies: { a: ["b"], c: { required: ["d"] } } });
  assert.equal(fits(depends, { a: 1 }), false);
  assert.equal(fits(depends, { c: 1 }), false);
  assert.equal(fits(depends, { a: 1, b: 1, c: 1, d: 1 }), true);
  const beside = { $ref: "#/definitions/any", type: "string", definitions: { any: {} } };
  assert.equal(fits(draft7(beside), 7), true);
  assert.equal(fits(beside, 7), false);
});

test("follows references within the schema, also into a circle, and none out of it", () => {
  const tree = {
    properties: { children: { items: { $ref: "#" } }, name: { $ref: "#/$defs/a~1b%20c" } },
    $defs: { "a/b c": { type: "string" } },
  };
  assert.equal(fits(tree, { name: "a", children: [{ name: "b", children: [] }] }), true);
  assert.equal(fits(tree, { children: [{ children: [{ name: 7 }] }] }), false);
  assert.deepEqual(
    notes({
      properties: {
        a: { $ref: "https://attacker.test/schema.json" },
        b: { $ref: "#/nowhere" },
        c: { $ref: "#anchor" },
        d: { $dynamicRef: "#x" },
      },
    }),
    ["/properties/a/$ref", "/properties/b/$ref", "/properties/c/$ref", "/properties/d/$dynamicRef"],
  );
});

test("is not stopped by patterns that stop other engines", () => {
  for (const pattern of ["^(a+)+$", "^(a|aa)+$", "(.*.*)*x", "^([a-z]+)*[0-9]$"]) {
    const schema = { properties: { a: { pattern } }, patternProperties: { [pattern]: {} } };
    assert.equal(fits(schema, { a: `${"a".repeat(50)}!` }), false, pattern);
    const long = compileSchema(schema)({ a: `${"a".repeat(100_000)}!` });
    assert.equal(long.length, 1, pattern);
  }
});

test("leaves a pattern out that only a backtracking engine takes, and reports it", () => {
  const schema = {
    properties: { a: { type: "string", pattern: "^(?=.*x)(\\w)\\1$" } },
    patternProperties: { "(?<!a)b": { type: "number" } },
    additionalProperties: false,
  };
  assert.deepEqual(notes(schema), ["/properties/a/pattern", "/patternProperties/(?<!a)b"]);
  assert.equal(fits(schema, { a: "anything", b: "anything" }), true);
  assert.equal(fits(schema, { a: 7 }), false);
});

test("refuses a schema that is too deep or too large to be compiled", () => {
  let deep: Record<string, unknown> = {};
  for (let level = 0; level < 10_000; level += 1) deep = { not: deep };
  assert.deepEqual(notes(deep), ["it is nested deeper than 64 levels"]);
  const wide = { anyOf: Array.from({ length: 5_000 }, () => ({ type: "string" })) };
  assert.deepEqual(notes(wide), ["it has more than 1000 subschemas"]);
  assert.equal(fits(wide, 7), true);
});

test("stops when references fan out, in place or at every level of the value", () => {
  const $defs: Record<string, unknown> = { d0: { type: "object" } };
  for (let n = 1; n < 60; n += 1)
    $defs[`d${n}`] = { allOf: [{ $ref: `#/$defs/d${n - 1}` }, { $ref: `#/$defs/d${n - 1}` }] };
  const expected = "a value that can be checked with less work";
  assert.equal(compileSchema({ $ref: "#/$defs/d59", $defs })({})[0]?.expected, expected);

  const twice = { properties: { a: { $ref: "#" } } };
  const levels = { allOf: [twice, twice], type: "object" };
  let value: Record<string, unknown> = {};
  for (let level = 0; level < 60; level += 1) value = { a: value };
  assert.equal(compileSchema(levels)(value)[0]?.expected, expected);
  assert.equal(
    compileSchema({ $ref: "#/$defs/a", $defs: { a: { $ref: "#/$defs/a" } } })({})[0]?.expected,
    expected,
  );
});

test("stops when a list, a text or a name is checked again and again", () => {
  const expected = "a value that can be checked with less work";
  const items = Array.from({ length: 50_000 }, (_, n) => ({ n, text: "x".repeat(20) }));
  const heavy = { allOf: Array.from({ length: 500 }, () => ({ uniqueItems: true })) };
  assert.equal(compileSchema(heavy)(items)[0]?.expected, expected);
  const misses = Array.from({ length: 900 }, () => ({ required: ["z"] }));
  const each = { items: { anyOf: [...misses, {}] } };
  assert.equal(compileSchema(each)(items)[0]?.expected, expected);
  const lengths = { allOf: Array.from({ length: 900 }, () => ({ minLength: 1_500_000 })) };
  assert.equal(compileSchema(lengths)("x".repeat(2_000_000))[0]?.expected, expected);
});

test("puts nothing of a hostile schema into code and nothing into prototypes", () => {
  const hostile = JSON.parse(`{
    "maxLength": "0);globalThis.hacked=1;(", "minimum": "1;globalThis.hacked=1", "type": ["string","x');globalThis.hacked=1;('"],
    "required": [1], "enum": 5, "properties": {"__proto__": {"type":"string"}, "');globalThis.hacked=1;('": {"type":"string"}},
    "$id": "globalThis.hacked=1", "$comment": "*/globalThis.hacked=1/*", "format": "globalThis.hacked=1", "$async": true, "yardStep": "x", "if": 7
  }`) as Record<string, unknown>;
  const validate = compileSchema(hostile);
  assert.deepEqual(validate({ "');globalThis.hacked=1;('": 7 }).length, 1);
  assert.deepEqual(validate(JSON.parse('{"__proto__": {"polluted": true}}')), []);
  assert.equal("hacked" in globalThis, false);
  assert.equal("polluted" in {}, false);
});

test("refuses unknown names that an object has from its prototype", () => {
  const schema = { properties: {}, additionalProperties: false, required: ["toString"] };
  assert.equal(compileSchema(schema)({})[0]?.pointer, "/toString");
  assert.equal(fits({ additionalProperties: false }, JSON.parse('{"__proto__":1}')), false);
});

test("takes any schema and any value without an exception", () => {
  fc.assert(
    fc.property(
      fc.object({
        maxDepth: 4,
        key: fc.constantFrom(
          "type",
          "items",
          "$ref",
          "allOf",
          "enum",
          "pattern",
          "properties",
          "required",
          "contains",
          "$defs",
          "not",
          "minLength",
        ),
      }),
      fc.jsonValue(),
      (schema, value) => {
        assert.ok(Array.isArray(compileSchema(schema)(value)));
      },
    ),
    { numRuns: 300 },
  );
});

test("a decimal is a multiple of a decimal as people count", () => {
  const isMultiple = (value: number, multipleOf: number): boolean => fits({ multipleOf }, value);
  for (const [value, divisor] of [
    [19.99, 0.01],
    [0.3, 0.1],
    [123_456_789.01, 0.01],
    [-4.35, 0.05],
    [6, 3],
    [0, 0.01],
    [1e-7, 1e-9],
  ] as const)
    assert.ok(isMultiple(value, divisor), `${value} of ${divisor}`);
  for (const [value, divisor] of [
    [19.995, 0.01],
    [0.35, 0.1],
    [7, 3],
    [1.5, 1],
  ] as const)
    assert.ok(!isMultiple(value, divisor), `${value} of ${divisor}`);
});

test("OpenAPI's nullable allows null beside the type and the values", () => {
  assert.ok(fits({ type: "string", nullable: true }, null));
  assert.ok(fits({ type: ["string"], enum: ["x"], nullable: true }, null));
  assert.ok(fits({ type: "string", enum: ["x"], nullable: true }, "x"));
  assert.ok(!fits({ type: "string", enum: ["x"], nullable: true }, "y"));
  assert.ok(!fits({ type: "string", nullable: true }, 5));
  assert.ok(!fits({ type: "string", nullable: false }, null));
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { toolRefusalOf } from "../../test-fixtures/strict-tools.ts";
import { providerTools } from "./provider-tools.ts";

type Json = Record<string, unknown>;

function adapt(inputSchema: Json) {
  const { tools, restore } = providerTools([{ name: "t", description: "Does.", inputSchema }]);
  const [tool] = tools;
  const parameters = tool?.inputSchema;
  if (parameters !== undefined)
    assert.equal(toolRefusalOf({ tools: [{ function: { name: "t", parameters } }] }), null);
  return { tool, schema: parameters, restore: (input: unknown) => restore("t", input) };
}

test("a schema that providers accept passes unchanged", () => {
  const schema = {
    type: "object",
    properties: { a: { anyOf: [{ type: "string" }, { type: "null" }] } },
    required: ["a"],
    additionalProperties: false,
    $defs: { b: { type: "array", items: { type: "string" } } },
  };
  const { tool, restore } = adapt(schema);
  assert.deepEqual(tool, { name: "t", description: "Does.", inputSchema: schema });
  const input = { a: [1] };
  assert.equal(restore(input), input);
});

test("combinations at the top become one object, with a sentence about what is required", () => {
  const string = { type: "string" };
  const { tool, schema } = adapt({
    type: "object",
    properties: { kind: string },
    required: ["kind"],
    allOf: [{ properties: { id: string }, required: ["id"] }, { $ref: "#/$defs/more" }],
    oneOf: [{ properties: { a: string }, required: ["a"] }, { required: ["kind"] }],
    not: { required: ["z"] },
    $defs: { more: { properties: { extra: string } } },
  });
  assert.deepEqual(schema, {
    type: "object",
    properties: { kind: string, id: string, extra: string, a: string },
    required: ["kind", "id"],
    $defs: { more: { properties: { extra: string } } },
  });
  assert.equal(tool?.description, "Does. Required: a, or kind.");
});

test("arrays get items wherever they are", () => {
  const array = { type: "array" };
  const { schema } = adapt({
    type: "object",
    properties: {
      a: array,
      b: { anyOf: [array, { type: ["array", "null"] }] },
      c: { items: array },
    },
  });
  const filled = { type: "array", items: {} };
  assert.deepEqual(schema?.["properties"], {
    a: filled,
    b: { anyOf: [filled, { type: ["array", "null"], items: {} }] },
    c: { items: filled },
  });
});

test("keys that providers refuse are replaced by free ones, in nested objects and arguments, too", () => {
  const string = { type: "string" };
  const { schema, restore } = adapt({
    type: "object",
    properties: {
      a_b: string,
      "a b": string,
      "a/b": string,
      list: { type: "array", items: { type: "object", properties: { ключ: string } } },
      ["x".repeat(70)]: string,
    },
    required: ["a b", "a_b"],
  });
  const keys = Object.keys(schema?.["properties"] ?? {});
  assert.deepEqual(keys, ["a_b", "a_b_2", "a_b_3", "list", "x".repeat(60)]);
  assert.deepEqual(schema?.["required"], ["a_b_2", "a_b"]);
  assert.deepEqual(
    restore({ a_b: 1, a_b_2: 2, a_b_3: 3, list: [{ ____: 4 }], [keys[4] ?? ""]: 5 }),
    {
      a_b: 1,
      "a b": 2,
      "a/b": 3,
      list: [{ ключ: 4 }],
      ["x".repeat(70)]: 5,
    },
  );
});

test("a schema that is too deep is cut, and only a tool that is too large is left out", () => {
  let deep: Json = { type: "string" };
  for (let level = 0; level < 40; level += 1) deep = { type: "object", properties: { a: deep } };
  const { schema } = adapt(deep);
  assert.ok(JSON.stringify(schema).length < JSON.stringify(deep).length);
  const large = { type: "object", description: "x".repeat(100_001) };
  const { tools } = providerTools([
    { name: "large", description: "", inputSchema: large },
    { name: "small", description: "", inputSchema: { type: "object" } },
  ]);
  assert.deepEqual(
    tools.map(({ name }) => name),
    ["small"],
  );
});

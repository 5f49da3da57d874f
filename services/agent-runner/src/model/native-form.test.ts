import assert from "node:assert/strict";
import { test } from "node:test";
import { isNativeForm } from "./native-form.ts";

const closed = (properties: Record<string, unknown>) => ({
  type: "object",
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
});

test("a form that OpenAI's strict mode accepts has closed objects and known keywords", () => {
  const node = closed({
    name: { type: "string", pattern: "^[a-z]+$" },
    next: { anyOf: [{ $ref: "#/$defs/Node" }, { type: "null" }] },
    list: { type: "array", items: { enum: ["a", "b"] }, minItems: 1 },
  });
  assert.ok(isNativeForm({ ...node, $defs: { Node: node } }));
  for (const schema of [
    { type: "string" },
    { type: "object" },
    { ...closed({ a: { type: "string" } }), required: [] },
    { ...closed({}), additionalProperties: true },
    closed({ a: { type: "string", minLength: 3 } }),
    closed({ a: { allOf: [{ type: "string" }] } }),
    closed({ a: { type: "object", properties: { b: {} } } }),
  ])
    assert.ok(!isNativeForm(schema), JSON.stringify(schema));
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { outputSchemaOf } from "./output-format.ts";

const names = { at: "text.format", schemaAt: "text.format.schema" };
const outputOf = (type: string, schema?: Record<string, unknown>) =>
  outputSchemaOf({ type, schema }, names);
const isInvalid = (param: string, detail: RegExp) => (error: unknown) => {
  const { status, data, message } = error as { status: number; data: unknown; message: string };
  assert.deepEqual([status, data], [400, { param }]);
  assert.match(message, detail);
  return true;
};

test("a text needs no schema, and any JSON object fits json_object", () => {
  assert.equal(outputSchemaOf(null, names), undefined);
  assert.equal(outputOf("text"), undefined);
  assert.deepEqual(outputOf("json_object"), { type: "object" });
});

test("a schema with definitions and references is passed on unchanged", () => {
  const node = { type: "object", properties: { next: { $ref: "#/$defs/Node" } } };
  const schema = { $ref: "#/$defs/Node", $defs: { Node: node } };
  assert.equal(outputOf("json_schema", schema), schema);
});

test("a format that agents do not have, and a schema that cannot be checked, are refused with their parameter", () => {
  assert.throws(() => outputOf("grammar"), isInvalid("text.format.type", /json_schema/));
  assert.throws(() => outputOf("json_schema"), isInvalid("text.format.schema", /missing/));
  const schema = { properties: { a: { type: "string", pattern: "(?=a)" } } };
  const refused = isInvalid("text.format.schema", /\/properties\/a\/pattern/);
  assert.throws(() => outputOf("json_schema", schema), refused);
});

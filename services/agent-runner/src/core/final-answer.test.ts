import assert from "node:assert/strict";
import { test } from "node:test";
import { problemOfSchema } from "@switchyard/service/json-schema/answer-schema";
import { finalAnswerTool, takeFinalAnswer } from "./final-answer.ts";

const node = { type: "object", properties: { next: { $ref: "#/$defs/Node" } } };
const $defs = { Node: node };

test("a schema of an object is the input of the tool, also when its top is a reference", () => {
  for (const schema of [node, { $ref: "#/$defs/Node", $defs }])
    assert.equal(finalAnswerTool(schema).inputSchema, schema);
});

test("a schema of another type becomes a property, and its references keep their targets", () => {
  const schema = {
    type: "array",
    items: { anyOf: [{ $ref: "#/$defs/Node" }, { $ref: "#" }, { $ref: "#/items" }] },
    $defs,
  };
  const { inputSchema } = finalAnswerTool(schema);
  assert.deepEqual(inputSchema["properties"], {
    value: {
      type: "array",
      items: {
        anyOf: [
          { $ref: "#/$defs/Node" },
          { $ref: "#/properties/value" },
          { $ref: "#/properties/value/items" },
        ],
      },
    },
  });
  assert.deepEqual(inputSchema["$defs"], $defs);
});

test("an answer in a wrapped form is checked without its wrapper", () => {
  const schema = { type: "array", items: { $ref: "#/$defs/Node" }, $defs };
  assert.equal(problemOfSchema(schema), null);
  const isTaken = (value: unknown) => !isRefused(takeFinalAnswer("r:1:0", { value }, schema));
  assert.ok(isTaken([{ next: { next: {} } }]));
  assert.ok(!isTaken([{ next: 1 }]));
});

function isRefused(outcome: ReturnType<typeof takeFinalAnswer>): boolean {
  return outcome.kind === "tool-failed";
}

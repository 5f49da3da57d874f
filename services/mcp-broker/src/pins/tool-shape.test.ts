import assert from "node:assert/strict";
import { test } from "node:test";
import { haveSameShape } from "./tool-shape.ts";

const tool = {
  name: "query",
  title: "Query",
  description: "Asks one of: a, b.",
  inputSchema: {
    type: "object",
    required: ["table", "limit"],
    properties: {
      table: { type: "string", description: "a or b", enum: ["a", "b"] },
      limit: { type: "integer", default: 10 },
      description: { type: "string", title: "Of the query" },
    },
  },
  annotations: { title: "Query", readOnlyHint: true },
};
type Change = (copy: typeof tool) => void;
const changed = (change: Change) => {
  const copy = structuredClone(tool);
  change(copy);
  return copy;
};

test("texts, and the order of lists that have none, make no other shape", () => {
  const same: Change[] = [
    (copy) => (copy.description = "Asks one of: b, a."),
    (copy) => (copy.title = copy.annotations.title = "Ask"),
    (copy) => (copy.inputSchema.properties.table.description = "b or a"),
    (copy) => (copy.inputSchema.properties.description.title = "Other"),
    (copy) => (copy.inputSchema.required = ["limit", "table"]),
    (copy) => (copy.inputSchema.properties.table.enum = ["b", "a"]),
    (copy) => Object.assign(copy, { $comment: "new" }),
  ];
  for (const change of same) assert.ok(haveSameShape(tool, changed(change)), String(change));
});

test("everything else makes another shape", () => {
  const other: Change[] = [
    (copy) => (copy.name = "other"),
    (copy) => copy.inputSchema.required.pop(),
    (copy) => copy.inputSchema.properties.table.enum.push("c"),
    (copy) => (copy.inputSchema.properties.limit.default = 11),
    (copy) => (copy.inputSchema.properties.table.type = "object"),
    (copy) => Object.assign(copy.inputSchema.properties, { title: { type: "string" } }),
    (copy) => Object.assign(copy.inputSchema.properties, { description: undefined }),
    (copy) => Object.assign(copy.inputSchema.properties.limit, { default: { title: "a" } }),
    (copy) => (copy.annotations.readOnlyHint = false),
    (copy) => Object.assign(copy, { _meta: { title: "a" } }),
  ];
  for (const change of other) assert.ok(!haveSameShape(tool, changed(change)), String(change));
});

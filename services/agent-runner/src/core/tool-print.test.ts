import assert from "node:assert/strict";
import { test } from "node:test";
import type { ListedTool } from "./tool-catalogue.ts";
import { selectTools, type ToolCatalogue } from "./tool-catalogue.ts";
import { hasChanged, newPrints } from "./tool-print.ts";

function listed(fields: Partial<ListedTool> = {}): ListedTool {
  const inputSchema = { type: "object" as const };
  return {
    name: "mcp__x__y",
    server: "x",
    tool: "y",
    description: "does y",
    inputSchema,
    ...fields,
  };
}

function catalogue(...tools: ListedTool[]): ToolCatalogue {
  return selectTools({ tools, layers: [], skills: ["a-skill"] });
}

test("notes the description that a model reads of each provider's tool, and nothing about the runner's own", () => {
  const tools = catalogue(listed());
  const prints = newPrints({}, tools.offered, tools);
  assert.deepEqual(Object.keys(prints), ["mcp__x__y"]);
  assert.match(prints["mcp__x__y"] ?? "", /^[0-9a-f]{32}$/);
  assert.deepEqual(newPrints(prints, tools.offered, tools), {});
});

test("sees a change of description, schema or pin, and none where only the order of keys changed", () => {
  const schema = { type: "object" as const, properties: { a: {}, b: {} } };
  const before = catalogue(listed({ inputSchema: schema }));
  const known = newPrints({}, before.offered, before);
  const turned = { properties: { b: {}, a: {} }, type: "object" as const };
  assert.equal(hasChanged("mcp__x__y", catalogue(listed({ inputSchema: turned })), known), false);
  assert.equal(hasChanged("mcp__x__y", catalogue(listed()), known), true);
  const reworded = catalogue(listed({ inputSchema: schema, description: "does z" }));
  assert.equal(hasChanged("mcp__x__y", reworded, known), true);
  const pinned = (digit: string) => catalogue(listed({ pin: `sha256:${digit.repeat(64)}` }));
  const pins = newPrints({}, pinned("1").offered, pinned("1"));
  assert.equal(hasChanged("mcp__x__y", pinned("1"), pins), false);
  assert.equal(hasChanged("mcp__x__y", pinned("2"), pins), true);
});

test("a tool that was never shown, or is gone, has not changed", () => {
  const tools = catalogue(listed());
  assert.equal(hasChanged("mcp__x__y", tools, {}), false);
  assert.equal(hasChanged("mcp__x__gone", tools, { mcp__x__gone: "0".repeat(32) }), false);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { fittingTools, rankTools } from "./rank-tools.ts";

const tools = [
  { name: "mcp__mail__sendMessage", description: "Sends an e-mail" },
  { name: "mcp__files__read_text_file", description: "Reads a file of the workspace" },
  { name: "mcp__db__query", description: "Runs SQL on the orders database" },
];

test("ranks tools by how well they fit a run's topic, and keeps the order of the others [A25]", () => {
  const names = (about: string) => rankTools(tools, about).map(({ name }) => name);
  assert.equal(names("count the orders in the database")[0], "mcp__db__query");
  assert.equal(names("send a message to Ann")[0], "mcp__mail__sendMessage");
  assert.deepEqual(
    names("zzz"),
    tools.map(({ name }) => name),
  );
});

test("finds only tools that have something to do with the question", () => {
  assert.deepEqual(
    fittingTools(tools, "read files").map(({ name }) => name),
    ["mcp__files__read_text_file"],
  );
  assert.deepEqual(fittingTools(tools, "zzz"), []);
});

test("a ranking loses no tool and invents none", () => {
  const tool = fc.record({ name: fc.string(), description: fc.string() });
  fc.assert(
    fc.property(fc.array(tool), fc.string(), (list, about) => {
      assert.deepEqual(new Set(rankTools(list, about)), new Set(list));
      assert.equal(rankTools(list, about).length, list.length);
    }),
  );
});

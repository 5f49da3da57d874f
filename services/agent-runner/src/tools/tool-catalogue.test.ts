import type { ToolInfo } from "@switchyard/contracts/mcp";
import { canonicalToolName } from "@switchyard/contracts/tool-names";
import assert from "node:assert/strict";
import { test } from "node:test";
import { MAX_TOOLS, routeOf, selectTools } from "./tool-catalogue.ts";

const tools = ["read", "write", "list"].map((tool) => toolOf("files", tool));
const everything = selectTools({ tools, layers: [], skills: ["summarise"] });

test("offers the runner's own tool first and then what every layer allows", () => {
  const names = (layers: string[][]) =>
    selectTools({ tools, layers, skills: ["summarise"] }).offered.map(({ name }) => name);
  assert.deepEqual(names([]), [
    "skill",
    "mcp__files__read",
    "mcp__files__write",
    "mcp__files__list",
  ]);
  assert.deepEqual(names([["files.*"], ["mcp__files__read", "other__*"]]), [
    "skill",
    "mcp__files__read",
  ]);
  assert.deepEqual(names([["*"], []]), ["skill"]);
});

test("shows a model at most fifty tools and names the others", () => {
  const many = Array.from({ length: 60 }, (_, index) => toolOf("big", `tool-${index}`));
  const { offered, leftOut, servers } = selectTools({
    tools: many,
    layers: [],
    skills: ["summarise"],
  });
  assert.equal(offered.length, MAX_TOOLS);
  assert.equal(leftOut.length, 11);
  assert.equal(leftOut[0], "mcp__big__tool-49");
  assert.deepEqual(routeOf("mcp__big__tool-59", { offered, leftOut, servers }), {
    to: "server",
    server: "big",
    isListed: true,
  });
});

test("sends a call to whoever owns the tool, and to its policy when it is hidden", () => {
  assert.deepEqual(routeOf("skill", everything), { to: "skill" });
  assert.deepEqual(routeOf("mcp__files__read", everything), {
    to: "server",
    server: "files",
    isListed: true,
  });
  assert.deepEqual(routeOf("mcp__files__drop", everything), {
    to: "server",
    server: "files",
    isListed: false,
  });
  for (const name of [
    "read",
    "Read",
    "mcp__files",
    "mcp__FILES__read",
    "mcp__files__a.b",
    "",
    `mcp__files__${"x".repeat(60)}`,
  ]) {
    assert.deepEqual(routeOf(name, everything), { to: "nobody" }, name);
  }
  assert.deepEqual(routeOf("skill", selectTools({ tools, layers: [], skills: [] })), {
    to: "nobody",
  });
});

function toolOf(server: string, tool: string): ToolInfo {
  return {
    name: canonicalToolName(server, tool),
    server,
    tool,
    description: tool,
    inputSchema: { type: "object" },
  };
}

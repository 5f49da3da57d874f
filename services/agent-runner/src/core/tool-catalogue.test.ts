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
  // Three places are kept for the tools of the run itself.
  assert.equal(offered.length, MAX_TOOLS - 3);
  assert.equal(leftOut.length, 14);
  assert.equal(leftOut[0], "mcp__big__tool-46");
  assert.deepEqual(routeOf("mcp__big__tool-59", { offered, leftOut, servers }), {
    to: "server",
    server: "big",
    isListed: true,
  });
});

test("shows as many tools as it is told to [A25]", () => {
  const many = Array.from({ length: 60 }, (_, index) => toolOf("big", `tool-${index}`));
  const listed = { tools: many, layers: [], skills: ["summarise"] };
  assert.equal(selectTools({ ...listed, maxTools: 20 }).offered.length, 20 - 3);
  assert.deepEqual(selectTools({ ...listed, maxTools: 100 }).leftOut, []);
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

test("built-in tools have their own place in the layers and go to the toolbox", () => {
  const builtin = {
    name: "read_file",
    tool: "read_file",
    server: null,
    description: "",
    inputSchema: { type: "object" as const },
  };
  const select = (layers: string[][]) =>
    selectTools({ tools: [builtin, ...tools], layers, skills: [] });
  assert.deepEqual(
    select([["read_*"]]).offered.map(({ name }) => name),
    ["read_file"],
  );
  assert.deepEqual(
    select([["files.*"]]).offered.map(({ name }) => name),
    tools.map(({ name }) => name),
  );
  const all = select([]);
  assert.deepEqual(routeOf("read_file", all), { to: "server", server: null, isListed: true });
  // Not listed, and still the policy's to deny.
  for (const name of ["execute_command", "list_directory"])
    assert.deepEqual(routeOf(name, all), { to: "server", server: null, isListed: false });
});

test("of too many tools, built-in ones come first, then those that were searched for and that fit [A25]", () => {
  const many = Array.from({ length: 60 }, (_, index) => toolOf("big", `tool-${index}`));
  const builtIn = { ...toolOf("toolbox", "read_file"), name: "read_file", server: null };
  const { offered, leftOut } = selectTools({
    tools: [...many, toolOf("shop", "refund_order"), builtIn],
    layers: [],
    skills: [],
    about: "Refund the order of Ann",
    found: ["mcp__big__tool-59"],
  });
  assert.deepEqual(
    offered.slice(0, 3).map(({ name }) => name),
    ["read_file", "mcp__big__tool-59", "mcp__shop__refund_order"],
  );
  assert.equal(offered.length + leftOut.length, 62);
});

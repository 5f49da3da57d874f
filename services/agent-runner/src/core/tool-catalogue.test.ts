import type { ToolInfo } from "@switchyard/contracts/mcp-broker/mcp";
import { canonicalToolName } from "@switchyard/contracts/tool-names";
import assert from "node:assert/strict";
import { test } from "node:test";
import { MAX_TOOLS, routeOf, selectTools } from "./tool-catalogue.ts";

const tools = ["read", "write", "list"].map((tool) => toolOf("files", tool));
const everything = selectTools({ tools, layers: [], skills: ["summarise"] });

test("offers the runner's own tool first and then the tools that every layer allows", () => {
  const names = (layers: string[][]) =>
    selectTools({ tools, layers, skills: ["summarise"] }).offered.map(({ name }) => name);
  assert.deepEqual(names([]), [
    "skill",
    "mcp__files__list",
    "mcp__files__read",
    "mcp__files__write",
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
  // Four slots are reserved for the tools of the run itself.
  assert.equal(offered.length, MAX_TOOLS - 4);
  assert.equal(leftOut.length, 15);
  assert.equal(leftOut[0], "mcp__big__tool-5");
  assert.deepEqual(routeOf("mcp__big__tool-59", { offered, leftOut, servers }), {
    to: "server",
    server: "big",
    isListed: true,
  });
});

test("shows at most the requested number of tools [A25]", () => {
  const many = Array.from({ length: 60 }, (_, index) => toolOf("big", `tool-${index}`));
  const listed = { tools: many, layers: [], skills: ["summarise"] };
  assert.equal(selectTools({ ...listed, maxTools: 20 }).offered.length, 20 - 4);
  assert.deepEqual(selectTools({ ...listed, maxTools: 100 }).leftOut, []);
});

test("sends a call to the owner of the tool, and to its policy when it is hidden", () => {
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

test("built-in tools match patterns of their own in the layers and go to the toolbox", () => {
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
    tools.map(({ name }) => name).toSorted(),
  );
  const all = select([]);
  assert.deepEqual(routeOf("read_file", all), { to: "server", server: null, isListed: true });
  // The policy decides about tools that are not listed, too.
  for (const name of ["execute_command", "list_directory"])
    assert.deepEqual(routeOf(name, all), { to: "server", server: null, isListed: false });
});

test("when there are too many tools, built-in ones come first, then those that fit, and a search changes nothing [A25]", () => {
  const many = Array.from({ length: 60 }, (_, index) => toolOf("big", `tool-${index}`));
  const builtIn = { ...toolOf("toolbox", "read_file"), name: "read_file", server: null };
  const request = {
    tools: [...many, toolOf("shop", "refund_order"), builtIn],
    layers: [],
    skills: [],
    about: "Refund the order of Ann",
  };
  const { offered, leftOut } = selectTools(request);
  const names = offered.map(({ name }) => name);
  assert.deepEqual(names.slice(0, 2), ["read_file", "mcp__shop__refund_order"]);
  assert.equal(offered.length + leftOut.length, 62);
  const found = leftOut.slice(0, 3);
  for (const shown of [[], [...names, ...found]])
    assert.deepEqual(selectTools({ ...request, found, shown }), { ...selectTools(request) });
});

test("the list of tools only grows at its end, however providers order and extend theirs", () => {
  const listOf = (count: number) =>
    Array.from({ length: count }, (_, index) => toolOf(index % 2 === 0 ? "a" : "b", `t-${index}`));
  for (const count of [10, 200]) {
    const select = (more: Partial<Parameters<typeof selectTools>[0]>) =>
      selectTools({ tools: listOf(count), layers: [], skills: [], ...more }).offered.map(
        ({ name }) => name,
      );
    const shown = select({});
    assert.deepEqual(select({ tools: listOf(count).toReversed() }), shown);
    const later = select({ tools: [...listOf(count).toReversed(), toolOf("0", "new")], shown });
    assert.deepEqual(later.slice(0, shown.length), shown);
  }
});

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
  // Three places are for the tools of the run itself, and ten for those that the model searches for.
  assert.equal(offered.length, MAX_TOOLS - 13);
  assert.equal(leftOut.length, 24);
  assert.equal(leftOut[0], "mcp__big__tool-41");
  assert.deepEqual(routeOf("mcp__big__tool-59", { offered, leftOut, servers }), {
    to: "server",
    server: "big",
    isListed: true,
  });
});

test("shows as many tools as it is told to [A25]", () => {
  const many = Array.from({ length: 60 }, (_, index) => toolOf("big", `tool-${index}`));
  const listed = { tools: many, layers: [], skills: ["summarise"] };
  assert.equal(selectTools({ ...listed, maxTools: 20 }).offered.length, 20 - 3 - 4);
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
    tools.map(({ name }) => name).toSorted(),
  );
  const all = select([]);
  assert.deepEqual(routeOf("read_file", all), { to: "server", server: null, isListed: true });
  // Not listed, and still the policy's to deny.
  for (const name of ["execute_command", "list_directory"])
    assert.deepEqual(routeOf(name, all), { to: "server", server: null, isListed: false });
});

test("of too many tools, built-in ones come first, then those that fit, and last those that were searched for [A25]", () => {
  const many = Array.from({ length: 60 }, (_, index) => toolOf("big", `tool-${index}`));
  const builtIn = { ...toolOf("toolbox", "read_file"), name: "read_file", server: null };
  const { offered, leftOut } = selectTools({
    tools: [...many, toolOf("shop", "refund_order"), builtIn],
    layers: [],
    skills: [],
    about: "Refund the order of Ann",
    found: ["mcp__big__tool-59"],
  });
  const names = offered.map(({ name }) => name);
  assert.deepEqual(names.slice(0, 2), ["read_file", "mcp__shop__refund_order"]);
  assert.equal(names.at(-1), "mcp__big__tool-59");
  assert.equal(offered.length + leftOut.length, 62);
});

test("the list of tools only grows at its end, however providers order and extend theirs", () => {
  const listOf = (count: number) =>
    Array.from({ length: count }, (_, index) => toolOf(index % 2 === 0 ? "a" : "b", `t-${index}`));
  for (const count of [10, 200]) {
    const select = (more: Partial<Parameters<typeof selectTools>[0]>) =>
      selectTools({ tools: listOf(count), layers: [], skills: [], ...more }).offered.map(
        ({ name }) => name,
      );
    const first = select({});
    assert.deepEqual(select({ tools: listOf(count).toReversed() }), first);
    const shown = [...first];
    const later = select({ tools: [...listOf(count).toReversed(), toolOf("0", "new")], shown });
    assert.deepEqual(later.slice(0, first.length), first);
    const found = Array.from({ length: 10 }, (_, index) => `mcp__b__t-${181 + index * 2}`).filter(
      (name) => !first.includes(name),
    );
    for (let n = 1; count === 200 && n <= found.length; n += 1) {
      const next = select({ found: found.slice(0, n), shown });
      assert.deepEqual(next, [...shown, found[n - 1]]);
      shown.push(...next.slice(shown.length));
    }
  }
});

test("a search beyond the places for it takes the place of the earliest find", () => {
  const many = Array.from({ length: 100 }, (_, index) => toolOf("big", `tool-${index}`));
  const hidden = selectTools({ tools: many, layers: [], skills: [] }).leftOut.slice(0, 12);
  const { offered } = selectTools({ tools: many, layers: [], skills: [], found: hidden });
  assert.equal(offered.length, MAX_TOOLS - 3);
  assert.deepEqual(
    offered.slice(-10).map(({ name }) => name),
    hidden.slice(-10),
  );
});

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { buildCatalogue, type ListedTool } from "./tool-catalogue.ts";

const tool = (name: string, description?: string): ListedTool => ({
  name,
  description,
  inputSchema: { type: "object" },
});

test("gives a tool its canonical name and its prefixed description, and passes its schema through [A9, A10, A11, A12]", () => {
  const inputSchema = {
    type: "object" as const,
    properties: { path: { type: "string", enum: ["a"] } },
    required: ["path"],
  };
  const { tools } = buildCatalogue("files", [
    { name: "read_file", description: "Reads", inputSchema },
  ]);
  assert.deepEqual(tools[0]?.info, {
    name: "mcp__files__read_file",
    server: "files",
    tool: "read_file",
    description: "[MCP: files] Reads",
    inputSchema,
  });
});

test("finds a tool by its canonical name and by the server's own name", () => {
  const catalogue = buildCatalogue("s", [tool("a.b/c"), tool("plain")]);
  const shortened = catalogue.tools.find(({ ref }) => ref.tool === "a.b/c");
  assert.ok(shortened);
  assert.match(shortened.ref.name, /^mcp__s__a_b_c_[0-9a-f]{8}$/);
  assert.equal(catalogue.find("a.b/c"), shortened);
  assert.equal(catalogue.find(shortened.ref.name), shortened);
  assert.equal(catalogue.find("other"), null);
});

test("refuses all tools whose names read alike, and says which [X1]", () => {
  const { tools, problems } = buildCatalogue("s", [
    tool("read-file"),
    tool("Read_File"),
    tool("write"),
  ]);
  assert.deepEqual(
    tools.map(({ ref }) => ref.tool),
    ["write"],
  );
  assert.deepEqual(problems, [
    'tools "Read_File" and "read-file" are refused: both read as mcp__s__read_file where case, - and _ do not count',
  ]);
});

test("refuses a name that is empty or longer than 512 characters", () => {
  const { tools, problems } = buildCatalogue("s", [
    tool(""),
    tool("x".repeat(513)),
    tool("x".repeat(512)),
  ]);
  assert.equal(tools.length, 1);
  assert.equal(problems.length, 2);
});

test("takes no more than 2,000 tools of one server, and says how many are left out", () => {
  const many = Array.from({ length: 2_003 }, (_, n) => tool(`tool_${n}`));
  const { tools, problems } = buildCatalogue("s", many);
  assert.equal(tools.length, 2_000);
  assert.deepEqual(problems, ["3 tools are beyond the limit of 2000 for one server"]);
});

test("lists the same tools in the same order however the server orders them", () => {
  const names = fc.uniqueArray(fc.stringMatching(/^[a-z]{1,12}$/), { maxLength: 30 });
  fc.assert(
    fc.property(names, fc.infiniteStream(fc.nat()), (list, random) => {
      const shuffled = list
        .map((name) => ({ name, key: random.next().value }))
        .toSorted((a, b) => a.key - b.key)
        .map(({ name }) => name);
      const order = (names_: string[]): string[] =>
        buildCatalogue(
          "s",
          names_.map((name) => tool(name)),
        ).tools.map(({ ref }) => ref.name);
      assert.deepEqual(order(shuffled), order(list));
    }),
  );
});

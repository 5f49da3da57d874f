import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { noNeighbours } from "../findings/neighbour-findings.ts";
import { inspectTools, type InspectedListing } from "./inspect-tools.ts";
import { readToolList } from "./read-tool-list.ts";
import { buildCatalogue, type PinView, type ToolCatalogue } from "./tool-catalogue.ts";

const approved: PinView = () => "approved";
const tool = (name: string, more: object = {}) => ({
  name,
  inputSchema: { type: "object" },
  ...more,
});

async function inspected(server: string, tools: readonly unknown[]): Promise<InspectedListing> {
  const listing = await readToolList(() => Promise.resolve({ tools }));
  return inspectTools(listing, {
    server,
    identity: { id: server },
    neighbours: noNeighbours,
    approved: [],
  });
}

async function catalogueOf(
  server: string,
  tools: readonly unknown[],
  pinState = approved,
): Promise<ToolCatalogue> {
  return buildCatalogue(server, await inspected(server, tools), pinState);
}

test("gives a tool its canonical name and its prefixed description, and passes its schema through [A9, A10, A11, A12, CR9, C6, C19]", async () => {
  const inputSchema = {
    type: "object",
    properties: { path: { type: "string", enum: ["a"], default: "a" } },
    required: ["path"],
  };
  const { tools } = await catalogueOf("files", [
    { name: "read_file", description: "Reads", inputSchema },
    { name: "roots", inputSchema: { type: "object" } },
  ]);
  const { pin, ...info } = tools[0]?.info ?? assert.fail("no tool");
  assert.match(pin ?? "", /^sha256:[0-9a-f]{64}$/);
  assert.deepEqual(info, {
    name: "mcp__files__read_file",
    server: "files",
    tool: "read_file",
    description: "[MCP: files] Reads",
    inputSchema,
  });
  assert.deepEqual(tools[1]?.info.inputSchema, { type: "object" }, "a tool without arguments");
});

test("finds a tool by its canonical name and by the server's own name, whatever characters it has [X1]", async () => {
  const names = ["a.b/c", "plain", "x".repeat(200), "🚀 launch", "naïve", "a b"];
  const catalogue = await catalogueOf(
    "s",
    names.map((name) => tool(name)),
  );
  assert.equal(catalogue.tools.length, names.length);
  for (const name of names) {
    const found = catalogue.find(name);
    assert.ok(found, name);
    assert.equal(catalogue.find(found.ref.name), found);
    assert.equal(found.ref.tool, name);
    assert.match(found.ref.name, /^mcp__s__[a-zA-Z0-9_-]{1,56}$/);
  }
  assert.equal(catalogue.find("other"), null);
});

test("refuses all tools whose names read alike, and names them [X1]", async () => {
  const { tools, problems } = await catalogueOf("s", [
    tool("read-file"),
    tool("Read_File"),
    tool("write"),
    tool("twice"),
    tool("twice", { description: "another" }),
  ]);
  assert.deepEqual(
    tools.map(({ ref }) => ref.tool),
    ["write"],
  );
  assert.deepEqual(problems, [
    'tools "Read_File" and "read-file" are refused: both read as mcp__s__read_file where case, - and _ do not count',
    'tools "twice" and "twice" are refused: both read as mcp__s__twice where case, - and _ do not count',
  ]);
});

test("lists only approved tools, counts the others, and finds all with their state at the moment", async () => {
  const states = new Map<string, ReturnType<PinView>>([
    ["a", "approved"],
    ["b", "pending"],
    ["c", "changed"],
    ["d", "blocked"],
  ]);
  const view: PinView = (_server, name) => states.get(name) ?? "pending";
  const catalogue = await catalogueOf(
    "s",
    [...states.keys()].map((name) => tool(name)),
    view,
  );
  assert.deepEqual(
    catalogue.tools.map(({ ref }) => ref.tool),
    ["a"],
  );
  assert.deepEqual(catalogue.problems, [
    "1 tools are blocked; look at them with: yard mcp pins list s",
    "1 tools changed after they were approved; look at them with: yard mcp pins list s",
    "1 tools were never approved; look at them with: yard mcp pins list s",
  ]);
  const found = catalogue.find("a");
  states.set("a", "blocked");
  assert.equal(found?.state, "blocked");
});

test("lists the same tools in the same order however the server orders them", async () => {
  const names = fc.uniqueArray(fc.stringMatching(/^[a-z]{1,12}$/), { maxLength: 30 });
  await fc.assert(
    fc.asyncProperty(names, fc.infiniteStream(fc.nat()), async (list, random) => {
      const shuffled = list
        .map((name) => ({ name, key: random.next().value }))
        .toSorted((a, b) => a.key - b.key)
        .map(({ name }) => name);
      const order = async (names_: string[]): Promise<string[]> => {
        const { tools } = await catalogueOf(
          "s",
          names_.map((name) => tool(name)),
        );
        return tools.map(({ ref }) => ref.name);
      };
      assert.deepEqual(await order(shuffled), await order(list));
    }),
    { numRuns: 50 },
  );
});

test("pins the whole definition and the server's identity, whatever the order of keys", async () => {
  const context = { server: "s", neighbours: noNeighbours, approved: [] };
  const pin = async (definition: object, identity: object): Promise<string | undefined> => {
    const listing = await readToolList(() => Promise.resolve({ tools: [definition] }));
    return (await inspectTools(listing, { ...context, identity })).tools[0]?.pin;
  };
  const one = { name: "a", inputSchema: { type: "object" }, annotations: { readOnlyHint: true } };
  const same = { annotations: { readOnlyHint: true }, inputSchema: { type: "object" }, name: "a" };
  const id = { url: "https://a.test" };
  assert.equal(await pin(one, id), await pin(same, id));
  for (const other of [
    { ...one, annotations: { readOnlyHint: false } },
    { ...one, title: "A" },
    { ...one, outputSchema: { type: "object" } },
    { ...one, _meta: { x: 1 } },
  ])
    assert.notEqual(await pin(one, id), await pin(other, id));
  assert.notEqual(await pin(one, id), await pin(one, { url: "https://b.test" }));
});

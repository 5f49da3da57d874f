import assert from "node:assert/strict";
import { test } from "node:test";
import { ProtocolError } from "@modelcontextprotocol/client";
import { turnsDuring } from "../../test-fixtures/turns-during.ts";
import { LISTING_LIMITS, readToolList } from "./read-tool-list.ts";

const tool = (name: string, more: object = {}) => ({
  name,
  inputSchema: { type: "object" },
  ...more,
});
const pagesOf =
  (pages: readonly object[]) =>
  (cursor: string | undefined): Promise<object> =>
    Promise.resolve(pages[Number(cursor ?? "0")] ?? assert.fail(`no page ${cursor}`));

test("reads all pages, and takes the shortest time for which they hold", async () => {
  const { tools, ttlMs } = await readToolList(
    pagesOf([
      { tools: [tool("a")], nextCursor: "1", ttlMs: 60_000 },
      { tools: [tool("b")], nextCursor: "2", ttlMs: 30_000 },
      { tools: [] },
    ]),
  );
  assert.deepEqual(
    tools.map(({ name }) => name),
    ["a", "b"],
  );
  assert.equal(ttlMs, 30_000);
});

test("leaves a malformed tool out by name and keeps the others", async () => {
  const deep = JSON.parse(`${'{"a":'.repeat(5_000)}1${"}".repeat(5_000)}`);
  const { tools, problems } = await readToolList(
    pagesOf([
      {
        tools: [
          7,
          tool(""),
          tool("x".repeat(513)),
          tool("\ud800"),
          tool("description", { description: 5 }),
          { name: "no-schema" },
          tool("array", { inputSchema: { type: "array" } }),
          tool("output", { outputSchema: "x" }),
          tool("deep", { inputSchema: { type: "object", default: deep } }),
          tool("large", { description: "x".repeat(600_000) }),
          tool("hid\u200bden", { outputSchema: [] }),
          tool("good"),
          { name: "untyped", inputSchema: { properties: {} } },
        ],
      },
    ]),
  );
  assert.deepEqual(
    tools.map(({ name, inputSchema }) => [name, inputSchema.type]),
    ["description", "no-schema", "output", "hid\u200bden", "good", "untyped"].map((name) => [
      name,
      "object",
    ]),
  );
  assert.deepEqual(problems, [
    "entry 0 of the tool list is not an object",
    "the name of entry 1 of the tool list must have 1-512 characters",
    "the name of entry 2 of the tool list must have 1-512 characters",
    "the name of entry 3 of the tool list must have 1-512 characters",
    'tool "description", /description: it has the wrong type; left out',
    'tool "no-schema", /inputSchema: it is missing; any object is accepted',
    'tool "array" is refused: the type of its inputSchema is not "object"',
    'tool "output", /outputSchema: it is not an object; left out',
    'tool "deep" is refused: its definition is nested deeper than 200 levels',
    'tool "large" is refused: its definition has more than 524288 characters',
    'tool "hid\\u{200b}den", /outputSchema: it is not an object; left out',
  ]);
});

test("a member of a tool that is null counts as absent, and the pin covers the tool as it arrived", async () => {
  const nulls = { title: null, description: null, outputSchema: null, annotations: null };
  const more = { icons: null, execution: null, _meta: null, inputSchema: null };
  const [plain, odd] = [tool("a", nulls), tool("b", more)];
  const { tools, problems } = await readToolList(pagesOf([{ tools: [plain, odd] }]));
  assert.deepEqual(
    tools.map(({ definition }) => definition),
    [plain, odd],
  );
  assert.deepEqual([tools[0]?.description, tools[0]?.outputSchema], [undefined, null]);
  assert.deepEqual(problems, ['tool "b", /inputSchema: it is missing; any object is accepted']);
});

test("a page that the server refuses cuts the list, and the tools of earlier pages stay", async () => {
  const refusals = [
    () => Promise.reject(new ProtocolError(-32_602, "Invalid cursor")),
    () => Promise.resolve({ error: "Invalid cursor" }),
  ];
  for (const refuse of refusals) {
    const first = { tools: [tool("a")], nextCursor: "x" };
    const readPage = (cursor?: string) =>
      cursor === undefined ? Promise.resolve(first) : refuse();
    const { tools, problems } = await readToolList(readPage);
    assert.equal(tools.length, 1);
    assert.match(problems.join("\n"), /its next page was refused/);
    await assert.rejects(readToolList(refuse));
  }
  const lost = (cursor?: string): Promise<object> =>
    cursor === undefined
      ? Promise.resolve({ tools: [tool("a")], nextCursor: "x" })
      : Promise.reject(new Error("connection lost"));
  await assert.rejects(readToolList(lost), /connection lost/);
});

test("a cursor that cannot be sent back is named as a problem", async () => {
  const { tools, problems } = await readToolList(pagesOf([{ tools: [tool("a")], nextCursor: {} }]));
  assert.equal(tools.length, 1);
  assert.match(problems.join("\n"), /nextCursor/);
});

test("cuts a list whose pages form a circle or exceed a limit, and reports it", async () => {
  const circle = await readToolList(pagesOf([{ tools: [tool("a")], nextCursor: "0" }]));
  assert.equal(circle.tools.length, 1);
  assert.deepEqual(circle.problems, ["the list is cut: its pages go round in a circle"]);

  const many = [{ tools: Array.from({ length: 12 }, (_, n) => tool(`t${n}`)) }];
  const cut = await readToolList(pagesOf(many), { ...LISTING_LIMITS, tools: 10 });
  assert.equal(cut.tools.length, 10);
  assert.deepEqual(cut.problems, ["the list is cut: a server may have 10 tools"]);

  const short = await readToolList(pagesOf(many), { ...LISTING_LIMITS, characters: 40 });
  assert.deepEqual(short.problems, ["the list is cut: it may have 40 characters"]);

  let asked = 0;
  const endless = (): Promise<object> =>
    Promise.resolve({ tools: [], nextCursor: `cursor ${(asked += 1)}` });
  const pages = await readToolList(endless, { ...LISTING_LIMITS, pages: 3 });
  assert.deepEqual(pages.problems, ["the list is cut: it may have 3 pages"]);
  assert.equal(asked, 3);
});

test("an empty cursor that begins the list anew is its end, and a tool that is listed twice alike is one", async () => {
  const [first, last] = [tool("a"), tool("b", { description: "d" })];
  const alone = { tools: [first], nextCursor: "" };
  const second = { tools: [last, first], nextCursor: "" };
  const lists: Record<string, (cursor: string | undefined) => object> = {
    one: () => alone,
    two: (cursor) => (cursor === "2" ? second : { tools: [first], nextCursor: "2" }),
    real: (cursor) => (cursor === "" ? { tools: [last] } : alone),
  };
  for (const [name, pageOf] of Object.entries(lists)) {
    const { tools, problems } = await readToolList((cursor) => Promise.resolve(pageOf(cursor)));
    const wanted = name === "one" ? ["a"] : ["a", "b"];
    assert.deepEqual([tools.map((each) => each.name), problems], [wanted, []], name);
  }
  const other = { tools: [first, tool("a", { description: "another" })] };
  const { tools } = await readToolList(pagesOf([other]));
  assert.equal(tools.length, 2);
});

test("takes 10,000 tools, and counts malformed ones beyond a hundred", async () => {
  const tools = [
    ...Array.from({ length: 10_000 }, (_, n) => tool(`tool_${n}`)),
    ...Array.from({ length: 150 }, () => null),
  ];
  const listing = await readToolList(pagesOf([{ tools }]));
  assert.equal(listing.tools.length, 10_000);
  assert.equal(listing.problems.length, 101);
  assert.equal(listing.problems.at(-1), "50 more problems of the tool list are not shown");
});

test("reads a long list in slices that leave time to renew leases", async () => {
  const tools = Array.from({ length: 100 }, (_, n) => tool(`tool-${n}`));
  assert.ok((await turnsDuring(() => readToolList(pagesOf([{ tools }])))) >= 8);
});

test("rejects when a page is not a list", async () => {
  for (const page of [{}, { tools: {} }, null, []])
    await assert.rejects(
      readToolList(() => Promise.resolve(page)),
      /answered without a list of tools/,
    );
});

import assert from "node:assert/strict";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import {
  Client as ClientV2,
  StreamableHTTPClientTransport as TransportV2,
} from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import {
  ElicitRequestSchema,
  PromptListChangedNotificationSchema,
  ResourceListChangedNotificationSchema,
  ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { StreamableHTTPClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { testDirectory } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { startProtocolsWorld } from "../lib/protocols-world.ts";
import { ODD_CASES } from "./fixtures/odd-cases.ts";

type Json = Record<string, unknown>;

const world = await startProtocolsWorld();
const { url, token } = world;
const fileOf = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const clientInfo = { name: "test", version: "1.0.0" };
const requestInit = { headers: { authorization: `Bearer ${token}` } };
const RICH = { command: process.execPath, args: [fileOf("fixtures/rich-server.ts")] };

await world.send("/mcp/servers", { id: "rich", ...RICH });
await until(
  async () => ((await world.send("/mcp/servers/rich"))["server"] as Json | undefined)?.["status"],
  (status) => status === "connected",
);

type Form = (params: { message: string }) => unknown;

async function connectV1(path: string, form?: Form) {
  const capabilities = form === undefined ? {} : { elicitation: { form: {} } };
  const client = new ClientV1(clientInfo, { capabilities });
  if (form !== undefined)
    client.setRequestHandler(
      ElicitRequestSchema,
      ({ params }) => form(params) as { action: "accept" },
    );
  await client.connect(new TransportV1(new URL(path, url), { requestInit }));
  after(() => client.close());
  return client;
}

async function connectV2(path: string, form?: Form) {
  const client = new ClientV2(clientInfo, {
    capabilities: form === undefined ? {} : { elicitation: { form: {} } },
    versionNegotiation: { mode: "auto" },
  });
  if (form !== undefined)
    client.setRequestHandler(
      "elicitation/create",
      ({ params }) => form(params) as { action: "accept" },
    );
  await client.connect(new TransportV2(new URL(path, url), { requestInit }));
  after(() => client.close());
  return client;
}

async function connectServe(mode: "legacy" | "auto" = "legacy") {
  const client = new ClientV2(clientInfo, { versionNegotiation: { mode } });
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [fileOf("../../apps/cli/src/main.ts"), "mcp", "serve", "--tools", "all"],
      env: {
        PATH: process.env["PATH"] ?? "",
        SWITCHYARD_GATEWAY_URL: url,
        SWITCHYARD_GATEWAY_TOKEN: token,
        SWITCHYARD_SESSION_KEY: "desk",
        SWITCHYARD_SIDE_EFFECTS_FILE: join(await testDirectory(), "effects.ndjson"),
      },
    }),
  );
  after(() => client.close());
  return client;
}

/** A request as any client may write it, without an SDK that drops unknown members. */
async function modern(path: string, method: string, params: Json): Promise<Json> {
  const reply = await modernReply(path, method, params);
  return (reply["result"] as Json | undefined) ?? assert.fail(JSON.stringify(reply));
}

async function modernReply(path: string, method: string, params: Json, own = {}): Promise<Json> {
  const meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": clientInfo,
    "io.modelcontextprotocol/clientCapabilities": {},
    "example.com/trace": "t-1",
    ...own,
  };
  const named = params["name"] ?? params["uri"];
  const response = await fetch(new URL(path, url), {
    method: "POST",
    headers: {
      ...requestInit.headers,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
      ...(typeof named === "string" && { "mcp-name": named }),
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: meta } }),
  });
  const text = await response.text();
  const line = text.split("\n").findLast((one) => one.startsWith("data: ")) ?? `data: ${text}`;
  return JSON.parse(line.slice(6)) as Json;
}

const without = (value: Json, ...names: string[]): Json =>
  Object.fromEntries(Object.entries(value).filter(([name]) => !names.includes(name)));

test("the server of one id lists and answers what its clients get directly, and the whole differs in names and URIs alone", async () => {
  const direct = new ClientV2(clientInfo);
  await direct.connect(new StdioClientTransport(RICH));
  after(() => direct.close());
  const one = await connectV1("/mcp/servers/rich");
  for (const client of [one, await connectV2("/mcp/servers/rich")])
    assert.equal(client.getInstructions(), direct.getInstructions());
  const all = await connectV1("/mcp");
  const ui = "ui://board/view.html";
  // The official clients refuse the list of the server itself, so the direct one is read without them.
  const wanted = { a: { type: "string" } };
  const shown = ((await modern("/mcp/servers/rich", "tools/list", {}))["tools"] as Json[]).map(
    (tool) => [tool["name"], tool] as const,
  );
  const rich = new Map(shown).get("rich") ?? assert.fail();
  assert.deepEqual(rich, {
    name: "rich",
    title: "Rich",
    description: "Has everything.\n",
    inputSchema: { type: "object", properties: wanted, required: ["a"], $comment: "c" },
    outputSchema: { type: "object", properties: wanted, required: ["a"] },
    annotations: { title: "R", readOnlyHint: true, idempotentHint: true },
    icons: [{ src: "https://example.com/i.png", mimeType: "image/png", sizes: ["48x48"] }],
    _meta: { ui: { resourceUri: ui }, "example.com/own": [1] },
    securitySchemes: [{ type: "noauth" }],
  });
  const whole = ((await modern("/mcp", "tools/list", {}))["tools"] as Json[]).find(
    ({ name }) => name === "mcp__rich__rich",
  );
  const wholeUi = "ui://yard-mcp.rich/board/view.html";
  assert.deepEqual(whole, {
    ...rich,
    name: "mcp__rich__rich",
    _meta: { ui: { resourceUri: wholeUi }, "example.com/own": [1] },
  });

  // 2026-07-28 has no member for it.
  const old = (await one.listTools()).tools.find(({ name }) => name === "rich");
  assert.deepEqual(old?.execution, { taskSupport: "optional" });

  const { resources } = await direct.listResources();
  assert.deepEqual((await one.listResources()).resources, resources);
  const { resourceTemplates } = await direct.listResourceTemplates();
  assert.deepEqual((await one.listResourceTemplates()).resourceTemplates, resourceTemplates);
  const { prompts } = await direct.listPrompts();
  assert.deepEqual((await one.listPrompts()).prompts, prompts);
  const ofRich = (await all.listResources()).resources.filter(({ uri }) => /[./]rich\//.test(uri));
  assert.deepEqual(
    ofRich.map((resource) => without(resource, "uri", "name", "title")),
    resources.map((resource) => without(resource, "uri", "name", "title")),
  );
  assert.deepEqual(
    ofRich.map(({ uri }) => uri),
    ["yard-mcp://rich/file:///a.txt", wholeUi],
  );
  const prompt = (await all.listPrompts()).prompts.find(({ name }) => name === "rich__p");
  assert.deepEqual({ ...prompt, name: "p" }, prompts[0]);

  const read = await direct.readResource({ uri: ui });
  assert.deepEqual(await one.readResource({ uri: ui }), read);
  const wholeRead = await all.readResource({ uri: wholeUi });
  assert.deepEqual({ ...wholeRead.contents[0], uri: ui }, read.contents[0]);
  assert.deepEqual(without(wholeRead, "contents"), without(read, "contents"));
  const got = await direct.getPrompt({ name: "p" });
  assert.deepEqual(await one.getPrompt({ name: "p" }), got);
  assert.deepEqual(await all.getPrompt({ name: "rich__p" }), got);

  const call = { name: "rich", arguments: { a: "x" }, _meta: { "example.com/trace": "t-1" } };
  const answer = await direct.callTool(call);
  assert.deepEqual(await one.callTool(call), answer);
  const wholeAnswer = await all.callTool({ ...call, name: "mcp__rich__rich" });
  assert.deepEqual(without(wholeAnswer, "content"), without(answer, "content"));
  assert.match(JSON.stringify(wholeAnswer.content), /yard-mcp:\/\/rich\/file:\/\/\/a\.txt/);
});

test("a request of 2026-07-28 has the same answer when the client wants progress, for which the SDK answers it", async () => {
  const requests: [path: string, method: string, params: Json][] = [
    ["/mcp/servers/rich", "tools/list", {}],
    ["/mcp", "tools/list", {}],
    ["/mcp/servers/rich", "tools/call", { name: "flag", arguments: {} }],
    ["/mcp", "tools/call", { name: "mcp__rich__list_out", arguments: {} }],
    ["/mcp/servers/rich", "tools/call", { name: "no_such_tool" }],
    ["/mcp", "tools/call", { name: "no_such_tool" }],
  ];
  for (const [path, method, params] of requests)
    assert.deepEqual(
      await modernReply(path, method, params),
      await modernReply(path, method, params, { progressToken: 1 }),
      `${path} ${method} ${String(params["name"])}`,
    );
});

test("tools with schemas that clients refuse are listed by both official SDKs and by yard mcp serve", async () => {
  const serve = await connectServe();
  const expected = ["rich", "list_out", "flag", "nothing", "number", "ask", "reload"];
  for (const client of [await connectV1("/mcp"), await connectV2("/mcp"), serve]) {
    const { tools } = await client.listTools();
    const names = new Set(tools.map(({ name }) => name));
    for (const name of expected) assert.ok(names.has(`mcp__rich__${name}`), name);
    const rich = tools.find(({ name }) => name === "mcp__rich__rich");
    assert.equal(rich?.annotations?.readOnlyHint, true);
    assert.equal(rich.outputSchema?.["type"], "object");
    const call = { name: "mcp__rich__rich", arguments: { a: "x" } };
    const answer = (await client.callTool(call)) as Json;
    assert.deepEqual(answer["structuredContent"], { a: '{"a":"x"}' });
    assert.partialDeepStrictEqual(answer["_meta"], { ui: { resourceUri: "ui://board/view.html" } });
  }
});

test("structured content of any type reaches clients of 2026-07-28, and older ones get the tool without the schema of its output", async () => {
  const name = "mcp__rich__list_out";
  const v1 = await connectV1("/mcp");
  const old = (await v1.listTools()).tools.find((tool) => tool.name === name);
  assert.equal(old?.outputSchema, undefined);
  assert.deepEqual((await v1.callTool({ name, arguments: {} })).content, [
    { type: "text", text: "[]" },
  ]);
  const tools = (await modern("/mcp", "tools/list", {}))["tools"] as Json[];
  assert.deepEqual(tools.find((tool) => tool["name"] === name)?.["outputSchema"], {
    type: "array",
    items: { type: "object" },
  });
  const result = await modern("/mcp", "tools/call", { name, arguments: {} });
  assert.deepEqual(result["structuredContent"], [{ one: 1 }]);
});

for (const { name, connect } of [
  { name: "SDK v1, 2025-11-25", connect: connectV1 },
  { name: "SDK v2, 2026-07-28", connect: connectV2 },
] as { name: string; connect: typeof connectV1 }[])
  test(`${name}: a question of a server reaches the client's person, who corrects an answer that does not fit`, async () => {
    const asked: string[] = [];
    const client = await connect("/mcp", ({ message }) => {
      asked.push(message);
      const count = asked.length === 1 ? 0 : 2;
      return { action: "accept", content: { colour: "red", count } };
    });
    const call = { name: "mcp__rich__ask", arguments: {} };
    const answer = (await client.callTool(call)) as { content: { text: string }[] };
    assert.deepEqual(JSON.parse(answer.content[0]?.text ?? ""), {
      action: "accept",
      content: { colour: "red", count: 2 },
    });
    assert.equal(asked.length, 2);
    assert.match(asked[1] ?? "", /count must be a whole number.*Which colour\?/);
  });

test("a session without a GET stream gets the question on the stream of its call", async () => {
  const initialize = {
    method: "initialize",
    params: { protocolVersion: "2025-11-25", capabilities: { elicitation: {} }, clientInfo },
  };
  const begun = await post("/mcp", { ...initialize, id: 1 });
  const session = { "mcp-session-id": begun.headers.get("mcp-session-id") ?? "" };
  const params = { name: "mcp__rich__ask", arguments: null };
  const called = await post("/mcp", { id: 2, method: "tools/call", params }, session);
  const decoder = new TextDecoder();
  let read = "";
  let answered = false;
  for await (const chunk of called.body ?? []) {
    read += decoder.decode(chunk as Uint8Array, { stream: true });
    const [, line] = /^data: (.*"elicitation\/create".*)$/m.exec(read) ?? [];
    if (line === undefined || answered) continue;
    answered = true;
    const { id } = JSON.parse(line) as { id: number };
    await post("/mcp", { id, result: { action: "decline" } }, session);
  }
  assert.match(read, /"id":2.*decline|decline.*"id":2/s);
});

for (const { way, connect } of [
  { way: "/mcp", connect: () => connectV1("/mcp") },
  { way: "yard mcp serve", connect: connectServe },
] as { way: string; connect: () => ReturnType<typeof connectV1> }[])
  test(`a client of ${way} that cannot ask gets the question and its address at once, and the same call gets the result`, async () => {
    const client = await connect();
    const call = { name: "mcp__rich__ask", arguments: { by: `who cannot ask at ${way}` } };
    const textOf = (result: unknown) => JSON.stringify((result as Json)["content"]);
    const startedAt = performance.now();
    const parked = await client.callTool(call);
    assert.ok(performance.now() - startedAt < 45_000);
    assert.equal(parked.isError, true);
    const [, id = ""] = /questions\/(q-\w+)\/answer/.exec(textOf(parked)) ?? [];
    assert.match(textOf(parked), /question_pending.*Which colour\?/);
    if (way === "/mcp")
      assert.match(textOf(await client.callTool(call)), new RegExp(id), "the same question");
    await world.send(`/mcp/questions/${id}/answer`, {
      action: "accept",
      content: { colour: "blue" },
    });
    assert.match(textOf(await client.callTool(call)), /blue/);
  });

test("requests that many clients send are served: no Accept, null cursors, a second GET, and a bad initialize gets an error that names the member", async () => {
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
  const bad = await post("/mcp", {
    id: 7,
    method: "initialize",
    params: { ...params, clientInfo: { name: "x" } },
  });
  const refused = (await bad.json()) as { id: number; error: { code: number; message: string } };
  assert.deepEqual([refused.id, refused.error.code], [7, -32_602]);
  assert.match(refused.error.message, /params\.clientInfo\.version/);
  const begun = await post("/mcp", { id: 1, method: "initialize", params }, { accept: "*/*" });
  assert.equal(begun.status, 200);
  const session = { "mcp-session-id": begun.headers.get("mcp-session-id") ?? "" };
  const cursor = { id: 2, method: "tools/list", params: { cursor: null } };
  assert.match(await (await post("/mcp", cursor, session)).text(), /mcp__rich__rich/);
  const wrong = await post("/mcp", { id: 8, method: "tools/call", params: { name: 5 } }, session);
  assert.match(await wrong.text(), /"message":"tools\/call is not valid: params\.name: [^[{]*"/);
  const get = (accept: string) =>
    fetch(new URL("/mcp", url), {
      headers: { ...requestInit.headers, ...session, accept, "mcp-protocol-version": "2025-11-25" },
    });
  const first = await get("text/event-stream");
  const second = await get("*/*");
  assert.deepEqual([first.status, second.status], [200, 200]);
  await first.body?.cancel().catch(() => {});
  await second.body?.cancel();
});

test("clients are notified when a server's tools, resources and prompts come and go, once for changes that happen together [X41]", async () => {
  const kinds = ["tools", "resources", "prompts"] as const;
  const counter = () => ({ tools: 0, resources: 0, prompts: 0 });
  const client = await connectV1("/mcp");
  const ofV1 = counter();
  for (const [kind, schema] of [
    ["tools", ToolListChangedNotificationSchema],
    ["resources", ResourceListChangedNotificationSchema],
    ["prompts", PromptListChangedNotificationSchema],
  ] as const)
    client.setNotificationHandler(schema, () => void (ofV1[kind] += 1));
  // `yard mcp serve` has tools alone, in the protocols before 2026-07-28 and since.
  const serves = await Promise.all([connectServe(), connectServe("auto")]);
  // A client of 2026-07-28 has a stream of `subscriptions/listen` instead, and one of a single server receives nothing of another one.
  const modernClients = await Promise.all([connectV2("/mcp"), connectV2("/mcp/servers/rich")]);
  const counted = [...serves, ...modernClients].map((each) => {
    const counts = counter();
    for (const kind of kinds)
      each.setNotificationHandler(`notifications/${kind}/list_changed`, () => {
        counts[kind] += 1;
      });
    return counts;
  });
  const wanted = { toolsListChanged: true, resourcesListChanged: true, promptsListChanged: true };
  for (const each of modernClients) {
    const subscription = await each.listen(wanted);
    after(() => subscription.close());
  }
  assert.deepEqual(
    serves.map((serve) => serve.getNegotiatedProtocolVersion()),
    ["2025-11-25", "2026-07-28"],
  );
  const toolChanges = await serves[1]?.listen({ toolsListChanged: true });
  after(() => toolChanges?.close());
  for (const serve of serves) await serve.listTools();
  const sizes = async () => ({
    tools: (await client.listTools()).tools.length,
    resources: (await client.listResources()).resources.length,
    prompts: (await client.listPrompts()).prompts.length,
  });
  const before = await sizes();
  for (const each of [client, ...modernClients])
    for (const kind of kinds)
      assert.equal(each.getServerCapabilities()?.[kind]?.listChanged, true, kind);
  await world.send("/mcp/servers", { id: "rich-late", ...RICH });
  const [ofServe, ofModernServe, ofV2 = counter(), ofOther] = counted;
  for (const kind of kinds) {
    await until(() => ofV1[kind] > 0 && ofV2[kind] > 0);
    for (const counts of [ofV1, ofV2])
      assert.ok(counts[kind] <= 3, `${counts[kind]} notifications of ${kind}`);
  }
  const now = await sizes();
  for (const kind of kinds) assert.ok(now[kind] > before[kind], kind);
  await until(() => [ofServe, ofModernServe].every((counts) => counts?.tools === 1));
  assert.deepEqual(ofOther, counter());
});

test("odd definitions and results reach REST, /mcp, yard mcp serve and a run alike, and cost no neighbour", async () => {
  const odd = { command: process.execPath, args: [fileOf("fixtures/odd-server.ts")] };
  await world.send("/mcp/servers", { id: "odd", ...odd });
  await until(
    async () => ((await world.send("/mcp/servers/odd"))["server"] as Json | undefined)?.["status"],
    (status) => status === "connected",
  );
  const [v1, v2, serve] = await Promise.all([connectV1("/mcp"), connectV2("/mcp"), connectServe()]);
  const names = ODD_CASES.map(({ name }) => name);
  const { tools } = (await world.send("/mcp/tools/odd")) as { tools?: { tool: string }[] };
  assert.deepEqual(tools?.map(({ tool }) => tool).toSorted(), names.toSorted());
  for (const client of [v1, v2, serve]) {
    const listed = (await client.listTools()).tools.map(({ name }) => name);
    assert.equal(listed.filter((name) => name.startsWith("mcp__odd__")).length, names.length);
  }
  const { content } = await v1.callTool({ name: "agent__odd", arguments: { input: "all" } });
  const [{ text: answer = "" } = {}] = content as { text?: string }[];
  for (const { name, args = {}, expected, isError = false } of ODD_CASES) {
    const reply = await world.send(`/tools/mcp/odd/${name}/call`, { args });
    assert.match(JSON.stringify(reply), expected, `${name} over REST`);
    assert.equal("content" in reply, !isError, `${name} over REST`);
    for (const client of [v1, v2, serve]) {
      const call = { name: `mcp__odd__${name}`, arguments: args };
      const got = await client.callTool(call);
      assert.match(JSON.stringify(got), expected, name);
      assert.equal(got.isError ?? false, isError, name);
      assert.doesNotMatch(JSON.stringify(got), /ZodError|invalid_type|"path":/, name);
    }
    const [, inRun = ""] =
      new RegExp(String.raw`(?:^|\n)${name}: ([^]*?)(?=\n\w+: |$)`).exec(answer) ?? [];
    assert.match(inRun, expected, `${name} in a run: ${answer}`);
  }
});

/** A JSON-RPC message of a client that has no SDK. */
function post(path: string, message: Json, headers: Record<string, string> = {}) {
  return fetch(new URL(path, url), {
    method: "POST",
    headers: {
      ...requestInit.headers,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: "2.0", ...message }),
  });
}

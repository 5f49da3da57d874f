import assert from "node:assert/strict";
import { once } from "node:events";
import { request, type IncomingMessage } from "node:http";
import { text as readText } from "node:stream/consumers";
import { test } from "node:test";
import { serve } from "@switchyard/bus/serve";
import { getAgent } from "@switchyard/contracts/skill-importer/agents";
import { NO_AGENT_LIMITS, type AgentDefinition } from "@switchyard/contracts/skill-importer/agents";
import { failuresOf } from "@switchyard/contracts/errors";
import { callTool, listTools } from "@switchyard/contracts/mcp-broker/mcp";
import { listPrompts, listResources } from "@switchyard/contracts/mcp-broker/mcp-features";
import { startGatewayWorld } from "../../test/gateway-world.ts";

const world = await startGatewayWorld();
const onFault = ({ error }: { error: unknown }): void => assert.fail(String(error));
const importer = await world.connectAs("importer");
const agents = serve(importer, { name: "importer", version: "0.1.0", description: "", onFault });
const agent: AgentDefinition = {
  name: "demo",
  description: "Never answers, as nobody takes its runs.",
  source: "project",
  digest: `sha256:${"0".repeat(64)}`,
  model: null,
  systemPrompt: "",
  tools: null,
  skills: [],
  maxSteps: 1,
  temperature: null,
  thinking: null,
  plan: null,
  roles: [],
  limits: NO_AGENT_LIMITS,
  onUnknownOutcome: "fail",
  approval: null,
  contextWindow: null,
  memoryBytes: null,
  sharesMemory: false,
};
agents.handle(getAgent, () => ({ agent }));
await importer.flush();
const PAGE = "https://app.example";
const { url, child } = await world.startGatewayProcess({ YARD_HTTP_ORIGINS: PAGE });

const chat = { model: "demo", messages: [{ role: "user", content: "hello" }], stream: true };
const run = { threadId: "t", runId: "r", messages: [{ id: "m", role: "user", content: "hello" }] };
const rpc = (method: string, params: object) => ({ jsonrpc: "2.0", id: 1, method, params });
const said = { messageId: "m", role: "ROLE_USER", parts: [{ text: "hello" }] };
/** Each request starts a run. */
const starts: readonly { path: string; body: object; headers?: Record<string, string> }[] = [
  { path: "/v1/chat/completions", body: chat },
  { path: "/v1/responses", body: { model: "demo", input: "hello", stream: true } },
  { path: "/ag-ui/demo", body: { ...run, tools: [], context: [] } },
  {
    path: "/a2a/demo",
    body: rpc("SendStreamingMessage", { message: said }),
    headers: { "a2a-version": "1.0" },
  },
];

function send(path: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${url}${path}`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...headers,
    },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(60_000),
  });
}

const as = (key: string) => ({ authorization: `Bearer ${key}` });

test("no protocol answers without a credential, to a foreign origin, or starts a run for a viewer", async () => {
  const { key } = await world.keyOf("looker", ["viewer"]);
  const all = [
    ...starts,
    { path: "/mcp", body: rpc("ping", {}) },
    { path: "/tools/invoke", body: {} },
  ];
  for (const { path, body } of all) {
    assert.equal((await send(path, body)).status, 401, path);
    const origin = { ...as(key), origin: "https://evil.example" };
    assert.equal((await send(path, body, origin)).status, 403, path);
  }
  for (const { path, body, headers } of starts)
    assert.equal((await send(path, body, { ...as(key), ...headers })).status, 403, path);
});

const initialize = rpc("initialize", {
  protocolVersion: "2025-11-25",
  capabilities: {},
  clientInfo: { name: "t", version: "1" },
});

/** Sends a request of an MCP session, which is answered as JSON. */
async function inSession(key: string, session: string, method: string, params: object = {}) {
  const headers = { ...as(key), "mcp-session-id": session };
  const response = await send("/mcp", rpc(method, params), headers);
  return (await response.json()) as {
    result?: Record<string, unknown>;
    error?: { data: { code: string } };
  };
}

test("lists of MCP servers are refused while no broker answers, and name servers that are missing; a result that does not fit keeps its content", async () => {
  const { key } = await world.keyOf("lister", ["operator"]);
  const begun = await send("/mcp", initialize, as(key));
  const session = begun.headers.get("mcp-session-id") ?? "";
  for (const method of ["tools/list", "resources/list", "prompts/list"])
    assert.equal((await inSession(key, session, method)).error?.data.code, "no_responders", method);
  const bus = await world.connectAs("broker");
  const broker = serve(bus, { name: "broker", version: "0.1.0", description: "", onFault });
  const toolOf = (server: string) => ({
    name: `mcp__${server}__look`,
    server,
    tool: "look",
    description: "Looks.",
    inputSchema: { type: "object" as const },
  });
  const away = { server: "away", status: "disconnected" as const, error: "it does not start" };
  const { unknown_server: unknown } = failuresOf(listTools.errors);
  broker.handle(listTools, ({ server }) => {
    if (server === "gone") throw unknown("MCP server not found: gone", { server });
    return { tools: ["near", "far"].map(toolOf), failures: [away] };
  });
  const resource = { uri: "test://one", name: "one" };
  const down = failuresOf(listResources.errors).server_down("far is down", {
    server: "far",
    status: "disconnected",
    lastError: null,
  });
  broker.handle(listResources, (_request, { tokens }) => {
    if (tokens.server === "far") throw down;
    return { resources: [resource], more: false };
  });
  const text = "the text of it";
  broker.handle(callTool, () => {
    const content = [{ type: "text", text }];
    const fail = failuresOf(callTool.errors);
    throw fail.invalid_result("/n is no number", { problems: [], content, text });
  });
  broker.handle(listPrompts, (_request, { tokens }) => {
    if (tokens.server === "far") throw down;
    return { prompts: [{ name: "one" }], more: false };
  });
  await bus.flush();
  for (const [body, headers] of [
    [initialize, {}],
    [rpc("server/discover", {}), { "mcp-method": "server/discover" }],
  ] as const) {
    const refused = await send("/mcp/servers/gone", body, { ...as(key), ...headers });
    const { code, detail } = (await refused.json()) as { code: string; detail: string };
    assert.deepEqual([refused.status, code], [404, "unknown_server"]);
    assert.match(detail, /there is no MCP server gone: yard mcp list shows/);
  }
  assert.equal((await send("/mcp/servers/near", initialize, as(key))).status, 200);
  const missingIn = (result: Record<string, unknown> = {}) => {
    const { "switchyard/missing": missing } = (result["_meta"] ?? {}) as Record<string, unknown>;
    return (missing as { server: string }[]).map(({ server }) => server);
  };
  const namesIn = (things: unknown) => (things as { name: string }[]).map(({ name }) => name);
  const { result: tools } = await inSession(key, session, "tools/list");
  assert.ok(namesIn(tools?.["tools"]).includes("mcp__near__look"));
  assert.deepEqual(missingIn(tools), ["away"]);
  const { result: resources } = await inSession(key, session, "resources/list");
  assert.deepEqual(namesIn(resources?.["resources"]), ["near: one"]);
  assert.deepEqual(missingIn(resources), ["far"]);
  const { result: prompts } = await inSession(key, session, "prompts/list");
  assert.deepEqual(namesIn(prompts?.["prompts"]), ["near__one"]);
  assert.deepEqual(missingIn(prompts), ["far"]);
  // The tool has run, so that its content is passed on.
  const look = { name: "mcp__near__look", arguments: {} };
  const { result: called } = await inSession(key, session, "tools/call", look);
  const [reason, own] = (called?.["content"] ?? []) as { text: string }[];
  assert.match(reason?.text ?? "", /^invalid_result: /);
  assert.deepEqual([called?.["isError"], own?.text], [true, text]);
});

test("a client that sends no Accept header is served", async () => {
  const { key } = await world.keyOf("bare", ["operator"]);
  const headers = { ...as(key), "content-type": "application/json" };
  // Unlike fetch, it adds no header of its own.
  const sent = request(`${url}/mcp`, { method: "POST", headers });
  sent.end(JSON.stringify(initialize));
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  assert.equal(response.statusCode, 200);
  assert.match(await readText(response), /"protocolVersion":"2025-11-25"/);
});

test("pages of YARD_HTTP_ORIGINS may use MCP from a browser, with a preflight and without cookies, and nothing else", async () => {
  const { key } = await world.keyOf("browser", ["operator"]);
  const preflight = (path: string, origin: string) =>
    fetch(`${url}${path}`, {
      method: "OPTIONS",
      headers: {
        origin,
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,content-type,mcp-session-id",
      },
    });
  for (const path of ["/mcp", "/mcp/servers/notes", "/.well-known/oauth-protected-resource/mcp"]) {
    const { status, headers } = await preflight(path, PAGE);
    assert.deepEqual([status, headers.get("access-control-allow-origin")], [204, PAGE], path);
    assert.equal(headers.get("vary"), "Origin", path);
    assert.match(headers.get("access-control-allow-methods") ?? "", /GET, POST, DELETE/);
    for (const name of ["Authorization", "Content-Type", "Mcp-Session-Id", "MCP-Protocol-Version"])
      assert.ok(headers.get("access-control-allow-headers")?.includes(name), name);
    assert.equal(headers.get("access-control-allow-credentials"), null, path);
  }
  for (const [path, origin] of [
    ["/mcp", "https://evil.example"],
    ["/api/v1/me", PAGE],
    ["/mcpx", PAGE],
    ["/a2a/demo", PAGE],
  ] as const) {
    const { status, headers } = await preflight(path, origin);
    assert.deepEqual([status, headers.get("access-control-allow-origin")], [403, null], path);
  }
  const begun = await send("/mcp", initialize, { ...as(key), origin: PAGE });
  assert.equal(begun.status, 200);
  assert.equal(begun.headers.get("access-control-allow-origin"), PAGE);
  assert.match(begun.headers.get("access-control-expose-headers") ?? "", /Mcp-Session-Id/);
  const refused = await send("/mcp", initialize, { origin: PAGE, cookie: `yard_session=${key}` });
  assert.deepEqual(
    [refused.status, refused.headers.get("access-control-allow-origin")],
    [401, PAGE],
  );
});

test("the longest idle of 100 sessions of a caller makes room for another one", async () => {
  const { key } = await world.keyOf("many", ["operator"]);
  const begin = async () => {
    const response = await send("/mcp", initialize, as(key));
    assert.equal(response.status, 200);
    await response.text();
    return response.headers.get("mcp-session-id") ?? "";
  };
  const first = await begin();
  const second = await begin();
  await Promise.all(Array.from({ length: 98 }, begin));
  const pinged = async (session: string) =>
    (await send("/mcp", rpc("ping", {}), { ...as(key), "mcp-session-id": session })).status;
  assert.equal(await pinged(first), 200);
  await begin();
  assert.deepEqual([await pinged(second), await pinged(first)], [404, 200]);
});

test("a gateway that stops announces it on every stream, and ends", async () => {
  const { key } = await world.keyOf("team-a", ["operator"]);
  const streams = await Promise.all(
    starts.map(async ({ path, body, headers }) => {
      const response = await send(path, body, { ...as(key), ...headers });
      assert.equal(response.status, 200, `${path} ${response.headers.get("content-type")}`);
      return { path, text: response.text() };
    }),
  );
  const begun = await send("/mcp", initialize, as(key));
  const session = { "mcp-session-id": begun.headers.get("mcp-session-id") ?? "" };
  const listening = await fetch(`${url}/mcp`, {
    headers: { ...as(key), ...session, accept: "text/event-stream" },
  });
  assert.equal(listening.status, 200);
  const received = listening.text();
  const exited = once(child, "exit");
  child.kill("SIGTERM");
  for (const { path, text } of streams) assert.match(await text, /this gateway stops/, path);
  await received;
  assert.deepEqual(await exited, [0, null]);
});

import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { serve } from "@switchyard/bus/serve";
import { getAgent } from "@switchyard/contracts/agents";
import { NO_AGENT_LIMITS, type AgentDefinition } from "@switchyard/contracts/agents";
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
const { url, child } = await world.startGateway();

const chat = { model: "demo", messages: [{ role: "user", content: "hello" }], stream: true };
const run = { threadId: "t", runId: "r", messages: [{ id: "m", role: "user", content: "hello" }] };
const rpc = (method: string, params: object) => ({ jsonrpc: "2.0", id: 1, method, params });
const said = { messageId: "m", role: "ROLE_USER", parts: [{ text: "hello" }] };
/** Each starts a run. */
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

test("a gateway that stops says so on every stream, and ends", async () => {
  const { key } = await world.keyOf("team-a", ["operator"]);
  const streams = await Promise.all(
    starts.map(async ({ path, body, headers }) => {
      const response = await send(path, body, { ...as(key), ...headers });
      assert.equal(response.status, 200, `${path} ${response.headers.get("content-type")}`);
      return { path, text: response.text() };
    }),
  );
  const client = {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "t", version: "1" },
  };
  const begun = await send("/mcp", rpc("initialize", client), as(key));
  const session = { "mcp-session-id": begun.headers.get("mcp-session-id") ?? "" };
  const listening = await fetch(`${url}/mcp`, {
    headers: { ...as(key), ...session, accept: "text/event-stream" },
  });
  assert.equal(listening.status, 200);
  const heard = listening.text();
  const exited = once(child, "exit");
  child.kill("SIGTERM");
  for (const { path, text } of streams) assert.match(await text, /this gateway stops/, path);
  await heard;
  assert.deepEqual(await exited, [0, null]);
});

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import {
  Client as ClientV2,
  StreamableHTTPClientTransport as TransportV2,
  type CallToolResult,
} from "@modelcontextprotocol/client";
import { StdioClientTransport as StdioTransport } from "@modelcontextprotocol/client/stdio";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { testDirectory } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { startProtocolsWorld } from "../lib/protocols-world.ts";

const world = await startProtocolsWorld();
const fileOf = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const { url, token } = world;
const headersOf = (key: string) => ({ headers: { authorization: `Bearer ${key}` } });
const clientInfo = { name: "test", version: "1.0.0" };

interface Call {
  readonly name: string;
  readonly arguments: Record<string, unknown>;
}
interface More {
  readonly onprogress?: (progress: { message?: string | undefined }) => void;
  readonly signal?: AbortSignal;
}

const textOf = (result: unknown): string =>
  ((result as { content?: { text?: string }[] }).content ?? []).map(({ text }) => text).join("\n");

async function connectV1(options: { key?: string; path?: string; forms?: () => unknown } = {}) {
  const { key = token, path = "/mcp", forms } = options;
  const capabilities = forms === undefined ? {} : { elicitation: {} };
  const client = new ClientV1(clientInfo, { capabilities });
  if (forms !== undefined)
    client.setRequestHandler(ElicitRequestSchema, () => forms() as { action: "accept" });
  const transport = new TransportV1(new URL(path, url), { requestInit: headersOf(key) });
  await client.connect(transport);
  const callWith = (call: Call, more: More) => client.callTool(call, undefined, more);
  return { client, transport, callWith };
}

async function connectV2(options: { key?: string; forms?: () => unknown } = {}) {
  const { key = token, forms } = options;
  const client = new ClientV2(clientInfo, {
    capabilities: forms === undefined ? {} : { elicitation: { form: {} } },
    versionNegotiation: { mode: "auto" },
  });
  if (forms !== undefined)
    client.setRequestHandler("elicitation/create", () => forms() as { action: "accept" });
  const transport = new TransportV2(new URL("/mcp", url), { requestInit: headersOf(key) });
  await client.connect(transport);
  const callWith = (call: Call, more: More) => client.callTool(call, more);
  return { client, transport, callWith };
}

for (const { name, connect } of [
  { name: "SDK v1, 2025-11-25", connect: connectV1 },
  { name: "SDK v2, 2026-07-28", connect: connectV2 },
] as { name: string; connect: typeof connectV1 }[]) {
  test(`${name}: the caller's own catalogue of tools, resources and prompts [AR15]`, async () => {
    const { client } = await connect();
    const tools = (await client.listTools()).tools.map((tool) => tool.name);
    for (const expected of ["mcp__suite__test_simple_text", "agent__helper", "run_get"])
      assert.ok(tools.includes(expected), `${expected} is in ${tools.join(" ")}`);
    const said = await client.callTool({ name: "mcp__suite__test_simple_text", arguments: {} });
    assert.match(textOf(said), /simple text response/);
    const { resources } = await client.listResources();
    const uri = resources.find((one) => one.uri.endsWith("test://static-text"))?.uri ?? "";
    const read = await client.readResource({ uri });
    assert.deepEqual(
      read.contents.map((one) => "text" in one && one.text),
      ["static"],
    );
    const { prompts } = await client.listPrompts();
    assert.ok(prompts.some((prompt) => prompt.name === "suite__test_simple_prompt"));
    const prompt = await client.getPrompt({ name: "suite__test_simple_prompt" });
    assert.equal(prompt.messages.length, 1);
    await client.close();
  });

  test(`${name}: an agent is a tool with progress`, async () => {
    const { client, callWith } = await connect();
    const notes: string[] = [];
    const call = { name: "agent__helper", arguments: { input: "hello" } };
    const onprogress = ({ message = "" }: { message?: string | undefined }) =>
      void notes.push(message);
    const result = await callWith(call, { onprogress });
    assert.match(textOf(result), /You said hello\. The tool said: This is a simple text/);
    assert.ok(notes.includes("calls mcp__suite__test_simple_text"), notes.join());
    await client.close();
  });

  test(`${name}: the client's person is prompted for an approval, for a call and inside of a run`, async () => {
    const asked: string[] = [];
    const forms = () => {
      asked.push("asked");
      return { action: "accept", content: { decision: "approve" } };
    };
    const { client } = await connect({ forms });
    const call = { name: "mcp__suite__guarded", arguments: { what: name } };
    assert.match(textOf(await client.callTool(call)), /guarded \{"what":/);
    const run = { name: "agent__careful", arguments: { input: "paint" } };
    assert.match(textOf(await client.callTool(run)), /Done: guarded \{"what":"paint"\}/);
    assert.equal(asked.length, 2);
    await client.close();
  });

  test(`${name}: a client without prompts gets the command to decide with, and the same call then succeeds`, async () => {
    const { client } = await connect();
    const call = { name: "mcp__suite__guarded", arguments: { what: `${name} parked` } };
    const parked = await client.callTool(call);
    assert.equal(parked.isError, true);
    const [id = ""] = /apr-[0-9a-f]{32}/.exec(textOf(parked)) ?? [];
    const again = await client.callTool(call);
    assert.match(textOf(again), new RegExp(id), "the same approval, not a second one");
    await world.send(`/approvals/${id}/approve`, {});
    assert.match(textOf(await client.callTool(call)), /parked/);
    const run = await client.callTool({ name: "agent__careful", arguments: { input: "x" } });
    assert.match(
      textOf(run),
      /^waiting: run cli~.* waits until .* for an approval of mcp__suite__guarded/,
    );
    await client.close();
  });

  test(`${name}: a question of a run reaches the client's person`, async () => {
    const { client } = await connect({
      forms: () => ({ action: "accept", content: { answer: "green" } }),
    });
    const call = { name: "agent__curious", arguments: { input: "x" } };
    assert.match(textOf(await client.callTool(call)), /The colour is .*green/);
    await client.close();
  });

  test(`${name}: a call that is given up cancels its run`, async () => {
    const { client, callWith } = await connect();
    const giveUp = new AbortController();
    const call = { name: "agent__patient", arguments: { input: name } };
    const onprogress = ({ message = "" }: { message?: string | undefined }) =>
      message.startsWith("calls") && giveUp.abort();
    const options = { signal: giveUp.signal, onprogress };
    await assert.rejects(callWith(call, options));
    await until(async () => {
      const { runs } = (await world.send("/runs?agent=patient&limit=1")) as {
        runs: { status: string }[];
      };
      return runs[0]?.status === "cancelled";
    });
    await client.close();
  });
}

test("a client of 2026-07-28 that disconnects from a call without progress cancels it", async () => {
  const { client, callWith } = await connectV2();
  const giveUp = new AbortController();
  const statusOf = async () => {
    const { runs } = (await world.send("/runs?agent=patient&limit=1")) as {
      runs: { status: string }[];
    };
    return runs[0]?.status;
  };
  const call = { name: "agent__patient", arguments: { input: "no progress" } };
  const called = assert.rejects(callWith(call, { signal: giveUp.signal }));
  await until(async () => (await statusOf()) === "running");
  giveUp.abort();
  await called;
  await until(async () => (await statusOf()) === "cancelled");
  await client.close();
});

test("a session is its caller's, and a viewer may look at the catalogue and start nothing", async () => {
  const { client, transport } = await connectV1();
  const session = transport.sessionId ?? assert.fail("no session");
  const key = await world.keyOf("other", ["operator"]);
  const list = { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} };
  const send = (credential: string) =>
    fetch(new URL("/mcp", url), {
      method: "POST",
      headers: {
        authorization: `Bearer ${credential}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-session-id": session,
        "mcp-protocol-version": "2025-11-25",
      },
      body: JSON.stringify(list),
    });
  assert.equal((await send(token)).status, 200);
  assert.equal((await send(key)).status, 404);
  await client.close();

  const viewer = await connectV2({ key: await world.keyOf("looker", ["viewer"]) });
  const { tools } = await viewer.client.listTools();
  assert.deepEqual(
    tools.map(({ name }) => name),
    ["run_get"],
  );
  const start = { name: "agent__helper", arguments: { input: "hello" } };
  assert.match(textOf(await viewer.client.callTool(start)), /^forbidden: run.start needs the role/);
  await viewer.client.close();
});

test("what comes soon is answered as JSON, and what takes its time over a stream", async () => {
  const { client, transport } = await connectV1();
  const call = (name: string, args: object) =>
    fetch(new URL("/mcp", url), {
      method: "POST",
      headers: {
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-session-id": transport.sessionId ?? "",
      },
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: "c-1",
        method: "tools/call",
        params: { name: `mcp__suite__${name}`, arguments: args },
      }),
    });
  const typeOf = ({ headers }: Response) => headers.get("content-type")?.split(";")[0];
  const soon = await call("test_simple_text", {});
  const late = await call("wait", { ms: 2_500 });
  assert.deepEqual([typeOf(soon), typeOf(late)], ["application/json", "text/event-stream"]);
  const answered = (await soon.json()) as { id: string; result: { isError?: boolean } };
  assert.deepEqual([answered.id, answered.result.isError], ["c-1", undefined]);
  const [, reported = "{}"] = /^data: (.*)$/m.exec(await late.text()) ?? [];
  assert.equal((JSON.parse(reported) as { id?: string }).id, "c-1");
  await client.close();
});

test("a result with blocks that clients refuse reaches them at /mcp and from yard mcp serve: the tool has run", async () => {
  const args = [fileOf("../../services/mcp-broker/test-fixtures/parrot-server.ts")];
  await world.send("/mcp/servers", { id: "parrot", command: process.execPath, args });
  const content = [
    { type: "text", text: "done", annotations: null, _meta: null },
    { type: "image", data: "aGk=" },
    { type: "hologram", at: 3 },
  ];
  const line = JSON.stringify({ jsonrpc: "2.0", id: "$id", result: { content, _meta: null } });
  const lines = [line.replace('"$id"', "$id")];
  const serve = new ClientV2(clientInfo);
  await serve.connect(
    new StdioTransport({
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
  for (const client of [(await connectV1()).client, (await connectV2()).client, serve]) {
    const call = { name: "mcp__parrot__say", arguments: { lines } };
    // The two SDKs have types of their own for the same result.
    const result = await until(
      async () => (await client.callTool(call)) as CallToolResult,
      ({ isError }) => isError !== true,
    );
    assert.deepEqual(result.content, [
      { type: "text", text: "done" },
      { type: "image", data: "aGk=", mimeType: "application/octet-stream" },
      { type: "text", text: '{"type":"hologram","at":3}' },
    ]);
    await client.close();
  }
});

test("without a credential a client gets the address where to get one (RFC 9728)", async () => {
  const refused = await fetch(new URL("/mcp", url), { method: "POST" });
  assert.equal(refused.status, 401);
  const [, where = ""] =
    /resource_metadata="([^"]+)"/.exec(refused.headers.get("www-authenticate") ?? "") ?? [];
  const metadata = (await (await fetch(where)).json()) as Record<string, unknown>;
  assert.equal(metadata["resource"], `${url}/mcp`);
  assert.deepEqual(metadata["bearer_methods_supported"], ["header"]);
  // There is none here: the client needs a key in its own configuration.
  assert.ok(!("authorization_servers" in metadata));
});

test("a client that knows tasks gets one for a run, and follows it from request to request", async () => {
  const task = await modern("tools/call", {
    name: "agent__helper",
    arguments: { input: "a task" },
  });
  assert.equal(task["resultType"], "task");
  const { taskId } = task;
  const done = await until(async () => {
    const now = await modern("tasks/get", { taskId });
    return now["status"] === "completed" && now;
  });
  const result = done["result"] as { resultType: string };
  assert.equal(result.resultType, "complete");
  assert.match(textOf(result), /You said a task/);
  const patient = await modern("tools/call", { name: "agent__patient", arguments: { input: "x" } });
  await modern("tasks/cancel", { taskId: patient["taskId"] });
  await until(async () => {
    const now = await modern("tasks/get", { taskId: patient["taskId"] });
    return now["status"] === "cancelled";
  });
});

/** A request of 2026-07-28 by a client that declares the tasks extension, which the SDK's does not know. */
async function modern(
  method: string,
  params: Record<string, unknown>,
): Promise<Record<string, unknown>> {
  const meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": clientInfo,
    "io.modelcontextprotocol/clientCapabilities": {
      extensions: { "io.modelcontextprotocol/tasks": {} },
    },
  };
  const named = params["name"] ?? params["taskId"];
  const response = await fetch(new URL("/mcp", url), {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`,
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
  const message = JSON.parse(line.slice(6)) as { result?: Record<string, unknown> };
  return message.result ?? assert.fail(text);
}

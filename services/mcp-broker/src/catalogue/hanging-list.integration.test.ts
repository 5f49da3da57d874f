import assert from "node:assert/strict";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { switchableServer } from "../../test-fixtures/switchable-server.ts";
import { fixtureServer, testWorld } from "../../test-fixtures/test-broker.ts";

const world = await testWorld();

interface Message {
  readonly id?: number;
  readonly method: string;
  readonly params?: { readonly protocolVersion?: string };
}

test("a server that hangs in tools/list is named, and the others are listed and called meanwhile [A4]", async () => {
  const hanging = Promise.withResolvers<void>();
  const server = await switchableServer(async (request, response) => {
    if (request.method !== "POST") return response.writeHead(405).end();
    const { id, method, params } = JSON.parse(await text(request)) as Message;
    if (method === "tools/list") return hanging.resolve(); // and never answers
    if (id === undefined) return response.writeHead(202).end();
    if (method !== "initialize") return response.writeHead(400).end();
    const serverInfo = { name: "hangs", version: "1" };
    const { protocolVersion } = params ?? {};
    const result = { protocolVersion, capabilities: { tools: {} }, serverInfo };
    response.writeHead(200, { "content-type": "application/json" });
    return response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
  });
  const broker = await world.startBroker({
    servers: [
      { id: "hangs", url: server.url, connectTimeoutMs: 60_000 },
      fixtureServer("works", ["fixture-server.ts"]),
    ],
  });
  await broker.until("works", ({ status }) => status === "connected");
  await hanging.promise;
  assert.equal(broker.info("hangs").status, "connecting");
  const { tools, failures } = await broker.tools();
  assert.ok(tools.some(({ name }) => name === "mcp__works__echo"));
  assert.deepEqual(failures, [
    { server: "hangs", status: "connecting", error: "MCP server not connected: hangs" },
  ]);
  const reply = await broker.call("works", { tool: "echo", args: { message: "here" } });
  assert.equal(reply.text, "here");
});

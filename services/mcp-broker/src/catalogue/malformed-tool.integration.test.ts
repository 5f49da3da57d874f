import assert from "node:assert/strict";
import { test } from "node:test";
import { createMcpHandler, Server } from "@modelcontextprotocol/server";
import { modernAnswer, switchableServer } from "../../test-fixtures/switchable-server.ts";
import { testWorld } from "../../test-fixtures/test-broker.ts";

const world = await testWorld();

test("a malformed tool of a 2026-07-28 server over HTTP is left out and named, and the others stay", async () => {
  const handler = createMcpHandler(() => {
    const server = new Server(
      { name: "sloppy", version: "1.0.0" },
      { capabilities: { tools: {} } },
    );
    const inputSchema = { type: "object" as const };
    const tools = [
      { name: "good", inputSchema },
      { name: "schemaless" },
      { name: "", inputSchema },
      { name: "numbered", inputSchema: 5 },
      "no tool at all",
      { name: "fine", inputSchema },
    ];
    // Types prevent a server from sending this, but not a hostile one.
    server.setRequestHandler("tools/list", () => ({ tools }) as never);
    server.setRequestHandler("tools/call", ({ params }) => ({
      content: [{ type: "text", text: params.name }],
    }));
    return server;
  });
  const server = await switchableServer(() => undefined);
  server.answer = modernAnswer(server.asked, { handler });
  const broker = await world.startBroker({ servers: [{ id: "sloppy", url: server.url }] });
  const info = await broker.until("sloppy", ({ status }) => status === "connected");
  assert.equal(info.protocolVersion, "2026-07-28");
  const { tools, failures } = await broker.tools({ server: "sloppy" });
  assert.deepEqual(
    tools.map(({ tool }) => tool),
    ["fine", "good", "schemaless"],
  );
  assert.deepEqual(
    failures.map(({ error }) => error),
    [
      "entry 4 of the tool list is not an object",
      "the name of entry 2 of the tool list must have 1-512 characters",
      'tool "numbered" is refused: its inputSchema is not an object',
      'tool "schemaless", /inputSchema: it is missing; any object is accepted',
    ],
  );
  assert.equal((await broker.call("sloppy", { tool: "fine", args: {} })).text, "fine");
});

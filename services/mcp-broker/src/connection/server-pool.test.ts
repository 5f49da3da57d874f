import assert from "node:assert/strict";
import { test } from "node:test";
import { inspectAlone } from "../catalogue/inspect-tools.ts";
import { readToolList } from "../catalogue/read-tool-list.ts";
import type { ServerConfig } from "@switchyard/project/mcp-servers/server-config";
import { parseServerFile } from "@switchyard/project/mcp-servers/server-file";
import type { McpSession, OpenSession, ToolCall } from "./mcp-session.ts";
import { createServerPool } from "./server-pool.ts";

const unused = (): never => assert.fail("this is not called");

/** A client without an SDK: it has the tools `a` and `b`, and answers with the call's own arguments. */
async function ownSession(config: ServerConfig, called: ToolCall[]): Promise<McpSession> {
  const tools = ["b", "a"].map((name) => ({ name, inputSchema: { type: "object" } }));
  const listing = await inspectAlone(config, await readToolList(() => Promise.resolve({ tools })));
  return {
    ...listing,
    serverVersion: "own 1",
    protocolVersion: null,
    isStateless: false,
    capabilities: { tools: {} },
    instructions: null,
    stepBack: null,
    callTool(call) {
      called.push(call);
      return Promise.resolve({ content: [{ type: "text", text: call.tool }] });
    },
    request: unused,
    wantLogs: () => false,
    rootsChanged: () => Promise.resolve(),
    watchResources: () => Promise.resolve(),
    refreshTools: () => Promise.resolve(),
    redact: (text) => text,
    stderr: () => "",
    close: () => Promise.resolve(),
    closeWhenIdle: () => Promise.resolve(),
  };
}

test("types, client, converter and manager are parts of their own: another client fits in the place of the SDK [A2, C7]", async () => {
  const text = JSON.stringify({ mcpServers: { own: { command: "x" }, off: { url: "http://x" } } });
  const called: ToolCall[] = [];
  const open: OpenSession = (config) =>
    config.id === "own"
      ? ownSession(config, called)
      : Promise.reject(new TypeError("only one is connected"));
  const { entries } = parseServerFile(text, "f.json");
  const pool = createServerPool();
  pool.begin(entries, {
    open,
    pinState: () => "approved",
    clock: { now: Date.now, random: Math.random, schedule: () => () => undefined },
    onChange: () => undefined,
    onInstanceChange: () => undefined,
    onFault: (error) => assert.fail(String(error)),
  });
  const { connection } = pool.find("own") ?? assert.fail("no such server");
  await connection.start();
  assert.equal(connection.info.status, "connected");
  assert.deepEqual(
    connection.catalogue.tools.map(({ info }) => info.name),
    ["mcp__own__a", "mcp__own__b"],
  );
  const signal = new AbortController().signal;
  const call = { tool: "a", args: { n: 1 }, timeoutMs: 1_000, signal };
  const result = await connection.session?.callTool(call);
  assert.deepEqual([result?.content, called], [[{ type: "text", text: "a" }], [call]]);
  await pool.stop();
  assert.equal(connection.info.status, "disconnected");
  assert.deepEqual(connection.catalogue.tools, []);
});

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import {
  Client,
  SSEClientTransport,
  StreamableHTTPClientTransport,
  type Transport,
} from "@modelcontextprotocol/client";
import { checkEcho, echoArgs } from "../broker/brokered-call.ts";
import type { Bench } from "../lib/bench.ts";
import { installedGateway } from "./installed-gateway.ts";
import { freePort } from "@switchyard/local-servers/free-port";
import { startGateway } from "./start-gateway.ts";

const echoServer = fileURLToPath(new URL("../broker/echo-server.ts", import.meta.url));
const START_MS = 20_000;

/** MIT, https://github.com/supercorp-ai/supergateway. */
export async function supergateway(bench: Bench): Promise<() => Promise<unknown>> {
  const program = await installedGateway({
    name: "supergateway",
    version: "4.0.0",
    program: "dist/index.js",
  });
  const port = await freePort();
  const command = `${process.execPath} ${echoServer}`;
  const transport = ["--outputTransport", "streamableHttp", "--stateful", "--logLevel", "none"];
  const args = ["--stdio", command, ...transport, "--port", String(port)];
  await startGateway(bench.stage, { program, args, port });
  const url = new URL(`http://127.0.0.1:${port}/mcp`);
  return connected(bench, "echo", () => new StreamableHTTPClientTransport(url));
}

/** MIT, https://github.com/punkpeye/mcp-proxy. */
export async function mcpProxy(bench: Bench): Promise<() => Promise<unknown>> {
  const program = await installedGateway({
    name: "mcp-proxy",
    version: "6.7.19",
    program: "dist/bin/mcp-proxy.mjs",
  });
  const port = await freePort();
  const listening = ["--host", "127.0.0.1", "--port", String(port), "--server", "stream"];
  const args = [...listening, "--", process.execPath, echoServer];
  await startGateway(bench.stage, { program, args, port });
  const url = new URL(`http://127.0.0.1:${port}/mcp`);
  return connected(bench, "echo", () => new StreamableHTTPClientTransport(url));
}

/** MIT, https://github.com/ravitemer/mcp-hub. Its endpoint for MCP clients speaks the older SSE transport. */
export async function mcpHub(bench: Bench): Promise<() => Promise<unknown>> {
  const program = await installedGateway({
    name: "mcp-hub",
    version: "4.2.1",
    program: "dist/cli.js",
  });
  const config = join(await bench.stage.directory(), "servers.json");
  const servers = { echo: { command: process.execPath, args: [echoServer] } };
  await writeFile(config, JSON.stringify({ mcpServers: servers }));
  const port = await freePort();
  const args = ["--port", String(port), "--config", config];
  await startGateway(bench.stage, { program, args, port });
  const url = new URL(`http://127.0.0.1:${port}/mcp`);
  return connected(bench, "echo__echo", () => new SSEClientTransport(url));
}

/** Connects the official client, with retries until the gateway has its server, and returns one call. */
export async function connected(
  { stage }: Bench,
  tool: string,
  transport: () => Transport,
): Promise<() => Promise<unknown>> {
  const end = performance.now() + START_MS;
  for (;;) {
    const client = new Client({ name: "bench", version: "1.0.0" });
    try {
      await client.connect(transport());
      const operation = async (): Promise<void> =>
        checkEcho(await client.callTool({ name: tool, arguments: echoArgs }));
      await operation();
      stage.onEnd(() => client.close());
      return operation;
    } catch (error) {
      await client.close();
      if (performance.now() > end) throw error;
      await delay(200);
    }
  }
}

// An MCP server built on SDK v1: `v1-server.ts stdio|http|sse`. Over HTTP it prints its port.

import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { z } from "zod";

const mode = process.argv[2] ?? "stdio";
const sessions = new Map<string, StreamableHTTPServerTransport | SSEServerTransport>();

function createMcp(): McpServer {
  const server = new McpServer({ name: "v1", version: "1.32.2" });
  server.registerTool(
    "echo",
    { description: "Says it again", inputSchema: { message: z.string() } },
    ({ message }) => ({ content: [{ type: "text", text: message }] }),
  );
  server.registerTool(
    "count_to",
    { description: "Reports progress", inputSchema: { steps: z.number() } },
    async ({ steps }, { _meta, sendNotification }) => {
      const { progressToken } = _meta ?? {};
      const total = progressToken === undefined ? 0 : steps;
      for (let progress = 1; progress <= total; progress += 1) {
        const params = { progressToken: progressToken ?? "", progress, total };
        await sendNotification({ method: "notifications/progress", params });
      }
      return { content: [{ type: "text", text: String(steps) }] };
    },
  );
  return server;
}

/** Streamable HTTP with a session for each client. */
async function answerHttp(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const known = sessions.get(String(request.headers["mcp-session-id"]));
  if (known instanceof StreamableHTTPServerTransport) return known.handleRequest(request, response);
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => void sessions.set(id, transport),
  });
  await createMcp().connect(transport);
  await transport.handleRequest(request, response);
}

/** The transport of 2024-11-05: a stream at /sse, messages at /messages; it has no POST to /sse. */
async function answerSse(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? "/", "http://localhost");
  if (request.method === "GET" && url.pathname === "/sse") {
    const transport = new SSEServerTransport("/messages", response);
    sessions.set(transport.sessionId, transport);
    return createMcp().connect(transport);
  }
  const known = sessions.get(url.searchParams.get("sessionId") ?? "");
  if (url.pathname === "/messages" && known instanceof SSEServerTransport)
    return known.handlePostMessage(request, response);
  response.writeHead(405).end();
}

if (mode === "stdio") await createMcp().connect(new StdioServerTransport());
else {
  const answer = mode === "sse" ? answerSse : answerHttp;
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => response.writeHead(500).end(String(error)));
  });
  server.listen(Number(process.env["PORT"] ?? 0), "127.0.0.1", () => {
    process.stdout.write(`${(server.address() as AddressInfo).port}\n`);
  });
}

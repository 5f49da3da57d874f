// An HTTP server of the test's own process that records the methods it receives and changes its behaviour.

import { once } from "node:events";
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from "node:http";
import { createServer as createTlsServer, type ServerOptions } from "node:https";
import type { AddressInfo } from "node:net";
import { after } from "node:test";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";

type Answer = (...parts: Parameters<RequestListener>) => unknown;

export interface SwitchableServer {
  readonly url: string;
  readonly port: number;
  /** Methods that were called, in order. */
  readonly asked: string[];
  /** The answer to all further requests. */
  answer: Answer;
}

/** Listens on loopback; with a key and a certificate over TLS. */
export async function switchableServer(
  answer: Answer,
  tls: ServerOptions | null = null,
): Promise<SwitchableServer> {
  const asked: string[] = [];
  const listener: RequestListener = (request, response) => void own.answer(request, response);
  const server = tls === null ? createServer(listener) : createTlsServer(tls, listener);
  server.listen(0, "127.0.0.1");
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, "listening");
  const { port } = server.address() as AddressInfo; // it listens on TCP
  const scheme = tls === null ? "http" : "https";
  const own = { url: `${scheme}://127.0.0.1:${port}/mcp`, port, asked, answer };
  return own;
}

const modern = createMcpHandler(() => {
  const server = new McpServer({ name: "switched", version: "2" }, { capabilities: { tools: {} } });
  server.registerTool("echo", { description: "e", inputSchema: z.object({}) }, () => ({
    content: [{ type: "text", text: "modern" }],
  }));
  return server;
});

export interface ModernOptions {
  readonly handler?: Pick<typeof modern, "fetch">;
  /** Written as it is: the SDK would refuse to send a result without the form of the protocol. */
  readonly callResult?: object | null;
}

/** Speaks 2026-07-28 through SDK v2. */
export function modernAnswer(
  asked: string[],
  { handler = modern, callResult = null }: ModernOptions = {},
): Answer {
  return async (request, response) => {
    const body = await text(request);
    const method = methodOf(request, body);
    asked.push(method);
    if (method === "tools/call" && callResult !== null)
      return answerJson(response, body, { resultType: "complete", ...callResult });
    const reply = await handler.fetch(
      new Request(`http://127.0.0.1${request.url}`, {
        method: request.method ?? "GET",
        headers: Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
        ...(request.method === "POST" ? { body } : {}),
      }),
    );
    response.writeHead(reply.status, Object.fromEntries(reply.headers));
    if (reply.body === null) response.end();
    else Readable.fromWeb(reply.body).pipe(response);
  };
}

/** Speaks 2025-06-18 and refuses everything newer, as a server of that time does. */
export function legacyAnswer(asked: string[], callResult: object = {}): Answer {
  return async (request, response) => {
    const body = await text(request);
    const method = methodOf(request, body);
    asked.push(method);
    const isOld = request.headers["mcp-protocol-version"] !== "2026-07-28";
    if (request.method !== "POST" || (!isOld && method !== "initialize"))
      return response.writeHead(request.method === "POST" ? 400 : 405).end();
    const { id } = JSON.parse(body) as { id?: unknown };
    if (id === undefined) return response.writeHead(202).end();
    if (method === "tools/call") return answerJson(response, body, callResult);
    const result =
      method === "initialize"
        ? {
            protocolVersion: "2025-06-18",
            capabilities: { tools: {} },
            serverInfo: { name: "switched", version: "1" },
          }
        : { tools: [{ name: "echo", inputSchema: { type: "object" } }] };
    return answerJson(response, body, result);
  };
}

function answerJson(response: ServerResponse, body: string, result: object): void {
  const { id } = JSON.parse(body) as { id?: unknown };
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
}

function methodOf(request: IncomingMessage, body: string): string {
  if (request.method !== "POST") return request.method ?? "";
  return (JSON.parse(body) as { method?: string }).method ?? "response";
}

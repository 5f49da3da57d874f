// A Streamable HTTP server of the official SDK that speaks 2026-07-28 and, in sessions, earlier revisions. Its tool `ask` asks a question in the
// way of the earlier ones alone; `wait` ends when it is released.

import { randomUUID } from "node:crypto";
import {
  createMcpHandler,
  isLegacyRequest,
  McpServer,
  WebStandardStreamableHTTPServerTransport as Transport,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import { modernAnswer, switchableServer, type SwitchableServer } from "./switchable-server.ts";

export interface TwoEraServer extends SwitchableServer {
  /** The number of calls of each tool that began. */
  readonly begun: { ask: number; wait: number };
  /** Ends the calls of `wait`. */
  release(): void;
}

export async function twoEraServer(): Promise<TwoEraServer> {
  const begun = { ask: 0, wait: 0 };
  const released = Promise.withResolvers<void>();
  const create = (): McpServer => {
    const mcp = new McpServer({ name: "two", version: "1" }, { capabilities: { tools: {} } });
    mcp.registerTool("ask", { inputSchema: z.object({}) }, async () => {
      begun.ask += 1;
      const properties = { colour: { type: "string" as const } };
      const requestedSchema = { type: "object" as const, properties };
      const { content } = await mcp.server.elicitInput({ message: "Which?", requestedSchema });
      return { content: [{ type: "text", text: String(content?.["colour"]) }] };
    });
    mcp.registerTool("wait", { inputSchema: z.object({}) }, async () => {
      begun.wait += 1;
      await released.promise;
      return { content: [{ type: "text", text: "waited" }] };
    });
    return mcp;
  };
  const modern = createMcpHandler(create, { legacy: "reject" });
  const sessions = new Map<string, Transport>();
  const fetch = async (request: Request): Promise<Response> => {
    const body: unknown = request.method === "POST" ? await request.clone().json() : undefined;
    if (!(await isLegacyRequest(request, body))) return modern.fetch(request);
    const known = sessions.get(request.headers.get("mcp-session-id") ?? "");
    const transport =
      known ??
      new Transport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (id) => void sessions.set(id, transport),
      });
    if (known === undefined) await create().connect(transport);
    return transport.handleRequest(request, { parsedBody: body });
  };
  const server = await switchableServer(() => undefined);
  server.answer = modernAnswer(server.asked, { handler: { fetch } });
  return Object.assign(server, { begun, release: () => released.resolve() });
}

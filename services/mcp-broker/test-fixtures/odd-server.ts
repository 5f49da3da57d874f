// A Streamable HTTP server of 2025-06-18 with a session id, whose tools answer as some servers in use do: each tool is one case.

import { randomUUID } from "node:crypto";
import type { ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { switchableServer, type SwitchableServer } from "./switchable-server.ts";

/** The answer to a request; `$id` in the body is the id of the request. */
export interface OddAnswer {
  readonly status?: number;
  readonly type?: string;
  readonly headers?: Record<string, string>;
  readonly body: unknown;
}

export interface OddServer extends SwitchableServer {
  /** The number of calls of each tool in sessions that the server knew. */
  readonly calls: Record<string, number>;
  /** Sessions that were begun. */
  readonly begun: () => number;
  /** Forgets every session, as a restart does. */
  forget(): void;
}

export interface OddOptions {
  readonly tools?: Readonly<Record<string, OddAnswer>>;
  /** Results that replace the ordinary ones of other methods. */
  readonly results?: Readonly<Record<string, unknown>>;
  /** The answer to a request of an unknown session. */
  readonly unknownSession?: OddAnswer;
  /** The answer to the GET of the stream; 405 by default. */
  readonly stream?: OddAnswer;
}

export async function oddServer(options: OddOptions = {}): Promise<OddServer> {
  const { tools = {}, results = {} } = options;
  const sessions = new Set<string>();
  const calls: Record<string, number> = {};
  let begun = 0;
  const server = await switchableServer(async (request, response) => {
    const body = await text(request);
    const { id, method = request.method ?? "", params } = body === "" ? {} : JSON.parse(body);
    server.asked.push(method);
    const write = (answer: OddAnswer): void => send(response, answer, id);
    if (request.method === "GET") return write(options.stream ?? { status: 405, body: "" });
    if (request.method === "DELETE") return write({ body: "" });
    // Servers before 2026-07-28 refuse a request without a session like this.
    if (method === "server/discover") return write({ status: 400, body: "Bad Request" });
    if (method === "initialize") {
      const session = randomUUID();
      sessions.add(session);
      begun += 1;
      return write({
        headers: { "mcp-session-id": session },
        body: answerOf(results[method] ?? HELLO),
      });
    }
    if (!sessions.has(String(request.headers["mcp-session-id"])))
      return write(options.unknownSession ?? { status: 404, body: "" });
    if (id === undefined) return write({ status: 202, body: "" });
    if (method === "tools/call") {
      calls[params.name] = (calls[params.name] ?? 0) + 1;
      return write(tools[params.name] ?? { body: answerOf(FINE) });
    }
    const listed = ["fine", ...Object.keys(tools)].map((name) => ({ name, inputSchema: {} }));
    const ordinary = method === "tools/list" ? { tools: listed } : {};
    return write({ body: answerOf(results[method] ?? ordinary) });
  });
  return Object.assign(server, { calls, begun: () => begun, forget: () => sessions.clear() });
}

const FINE = { content: [{ type: "text", text: "fine" }] };
const HELLO = {
  protocolVersion: "2025-06-18",
  capabilities: { tools: {}, resources: {}, prompts: {} },
  serverInfo: { name: "odd", version: "1" },
};

function answerOf(result: unknown): object {
  return { jsonrpc: "2.0", id: "$id", result };
}

function send(response: ServerResponse, answer: OddAnswer, id: unknown): void {
  const { status = 200, type = "application/json", headers = {}, body } = answer;
  const written = typeof body === "string" ? body : JSON.stringify(body);
  response.writeHead(status, { "content-type": type, ...headers });
  response.end(written.replaceAll('"$id"', JSON.stringify(id ?? null)));
}

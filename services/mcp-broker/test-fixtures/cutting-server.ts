// A 2025-11-25 server over Streamable HTTP whose answers come as event streams, and which breaks them off.

import type { IncomingMessage, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { switchableServer } from "./switchable-server.ts";

export interface CuttingServer {
  readonly url: string;
  /** `Last-Event-ID` of each GET that resumed a stream. */
  readonly resumedFrom: string[];
  /** The number of calls of each tool. */
  readonly calls: Record<string, number>;
  /** Resolves when the client ended a stream of this tool that the server left open. */
  ended(tool: string): Promise<void>;
}

/** The server's behaviour with the stream of a call, by the name of the tool. */
const STREAMS = [
  /** The socket is cut after progress. */
  "cut",
  /** The stream ends in order, without an answer. */
  "end",
  /** Cut after an event with an id; the rest is there for a client that resumes. */
  "resume",
  /** Cut after an event with an id, and no stream is ever resumed. */
  "gone",
  /** An event with an id, and every resumed stream stays open without an answer. */
  "poll",
  /** Stays open without an answer. */
  "hold",
  /** One event beyond every limit. */
  "flood",
  /** No stream at all: 202, as for messages that need no answer. */
  "accepted",
  /** No stream: JSON that answers another request. */
  "stray",
  "echo",
] as const;

const FLOOD_CHUNK = "x".repeat(1024 * 1024);
const FLOOD_CHUNKS = 11;

/** Call it at the top of a file or in a test. */
export async function cuttingServer(): Promise<CuttingServer> {
  const resumedFrom: string[] = [];
  const calls: Record<string, number> = {};
  const ends = new Map<string, PromiseWithResolvers<void>>();
  const endOf = (tool: string): PromiseWithResolvers<void> => {
    const end = ends.get(tool) ?? Promise.withResolvers<void>();
    ends.set(tool, end);
    return end;
  };
  const waiting = new Map<string, unknown>();

  const answerCall = async (request: Call, response: ServerResponse): Promise<void> => {
    const { id, params } = request;
    const tool = params?.name ?? "";
    calls[tool] = (calls[tool] ?? 0) + 1;
    if (tool === "accepted") return void response.writeHead(202).end();
    if (tool === "stray") {
      response.writeHead(200, { "content-type": "application/json" });
      return void response.end(JSON.stringify({ jsonrpc: "2.0", id: "another", result: {} }));
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    const { _meta: meta } = params ?? {};
    const token = meta?.progressToken;
    const progress = { progressToken: token, progress: 1 };
    // Without a priming event no id was ever given, and nothing can be resumed.
    const primed = ["resume", "gone", "poll"].includes(tool);
    if (primed) {
      waiting.set(tool, id);
      response.write(`id: ${tool}\nretry: 100\ndata: \n\n`);
    }
    if (token !== undefined) response.write(event("notifications/progress", progress));
    switch (tool) {
      case "echo":
        response.end(answer(id, "echoed"));
        return;
      case "hold":
        response.on("close", () => endOf(tool).resolve());
        return;
      case "flood":
        response.write("data: ");
        for (let n = 0; n < FLOOD_CHUNKS; n += 1) response.write(FLOOD_CHUNK);
        return;
      case "end":
      case "poll":
        response.end();
        return;
      default:
        // The written bytes have to arrive before the end does.
        await new Promise((resolve) => {
          response.write(": cut\n\n", resolve);
        });
        response.destroy();
    }
  };

  const resume = (request: IncomingMessage, response: ServerResponse): void => {
    const tool = String(request.headers["last-event-id"] ?? "");
    if (tool === "") return void response.writeHead(405).end();
    resumedFrom.push(tool);
    if (tool === "gone") return void response.writeHead(405).end();
    response.writeHead(200, { "content-type": "text/event-stream" });
    if (tool === "resume") return void response.end(answer(waiting.get(tool), "resumed"));
    response.on("close", () => endOf(tool).resolve());
    response.flushHeaders();
  };

  const server = await switchableServer(async (request, response) => {
    if (request.method !== "POST") return resume(request, response);
    const message = JSON.parse(await text(request)) as Call;
    if (message.method === "tools/call") return answerCall(message, response);
    if (message.id === undefined) return response.writeHead(202).end();
    if (request.headers["mcp-protocol-version"] === "2026-07-28")
      return response.writeHead(400).end();
    response.writeHead(200, { "content-type": "application/json" });
    const result = resultOf(message.method);
    return response.end(JSON.stringify({ jsonrpc: "2.0", id: message.id, result }));
  });
  return { url: server.url, resumedFrom, calls, ended: (tool) => endOf(tool).promise };
}

interface Call {
  readonly id?: unknown;
  readonly method: string;
  readonly params?: {
    readonly name?: string;
    readonly _meta?: { readonly progressToken?: unknown };
  };
}

function resultOf(method: string): object {
  if (method === "initialize")
    return {
      protocolVersion: "2025-11-25",
      capabilities: { tools: {} },
      serverInfo: { name: "cutting", version: "1" },
    };
  const inputSchema = { type: "object" };
  return method === "tools/list" ? { tools: STREAMS.map((name) => ({ name, inputSchema })) } : {};
}

function event(method: string, params: object): string {
  return `data: ${JSON.stringify({ jsonrpc: "2.0", method, params })}\n\n`;
}

function answer(id: unknown, words: string): string {
  const result = { content: [{ type: "text", text: words }] };
  return `data: ${JSON.stringify({ jsonrpc: "2.0", id, result })}\n\n`;
}

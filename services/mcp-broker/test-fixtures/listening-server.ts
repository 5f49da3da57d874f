// A 2026-07-28 server of the test's own process whose clients listen for changes, until a test cuts them off.

import type { ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";
import { switchableServer } from "./switchable-server.ts";

export interface ListeningServer {
  readonly url: string;
  /** Methods that were called, in order. */
  readonly asked: string[];
  /** Names of its tools; a test adds some. */
  readonly tools: string[];
  /** Returns the number of clients that listen. */
  readonly listening: () => number;
  /** Returns the number of clients that listen for changes of resources. */
  readonly watching: () => number;
  /** Notifies every subscriber that the tools have changed. */
  changed(): void;
  /** Notifies every subscriber of this resource that it has changed. */
  updated(uri: string): void;
  /** Cuts the sockets of all subscribers. */
  cut(): void;
}

export async function listeningServer(): Promise<ListeningServer> {
  const tools = ["first"];
  const listeners = new Map<ServerResponse, string>();
  const handler = createMcpHandler(() => {
    const server = new McpServer(
      { name: "listening", version: "1" },
      { capabilities: { tools: { listChanged: true }, resources: { subscribe: true } } },
    );
    for (const name of tools)
      server.registerTool(name, { description: name, inputSchema: z.object({}) }, () => ({
        content: [],
      }));
    return server;
  });
  const server = await switchableServer(async (request, response) => {
    const body = await text(request);
    const { method = "" } = (body === "" ? {} : JSON.parse(body)) as { method?: string };
    server.asked.push(method);
    const isListening = method === "subscriptions/listen";
    const gone = new AbortController();
    response.on("close", () => {
      listeners.delete(response);
      gone.abort();
    });
    const reply = await handler.fetch(
      new Request(server.url, {
        method: request.method ?? "GET",
        headers: Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
        signal: gone.signal,
        ...(request.method === "POST" ? { body } : {}),
      }),
    );
    response.writeHead(reply.status, Object.fromEntries(reply.headers));
    if (reply.body === null) return response.end();
    if (isListening) listeners.set(response, body);
    return Readable.fromWeb(reply.body)
      .on("error", () => response.destroy())
      .pipe(response);
  });
  return {
    url: server.url,
    asked: server.asked,
    tools,
    listening: () => listeners.size,
    watching: () =>
      [...listeners.values()].filter((body) => body.includes("resourceSubscriptions")).length,
    changed: () => handler.notify.toolsChanged(),
    updated: (uri) => handler.notify.resourceUpdated(uri),
    cut() {
      for (const response of listeners.keys()) {
        listeners.delete(response);
        response.destroy();
      }
    },
  };
}

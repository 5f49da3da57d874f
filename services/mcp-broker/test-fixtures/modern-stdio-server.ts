// An MCP server over stdio that speaks 2026-07-28 alone: `modern-stdio-server.ts <file>`. It writes a line to the
// file at its start and for each request, so that a test sees how often it was started and which request came first.

import { appendFileSync } from "node:fs";
import { McpServer } from "@modelcontextprotocol/server";
import { serveStdio, StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

const file = process.argv[2] ?? "";
const note = (line: string): void => appendFileSync(file, `${line}\n`);
const text = (value: string) => ({ content: [{ type: "text" as const, text: value }] });

class NotingTransport extends StdioServerTransport {
  override async start(): Promise<void> {
    const { onmessage } = this;
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK's transport is not an EventTarget
    this.onmessage = (message) => {
      if ("method" in message) note(message.method);
      onmessage?.(message);
    };
    await super.start();
  }
}

note("started");
serveStdio(
  () => {
    const server = new McpServer(
      { name: "modern-stdio", version: "1" },
      { capabilities: { tools: { listChanged: true } } },
    );
    server.registerTool(
      "echo",
      { description: "Says it again", inputSchema: z.object({ message: z.string() }) },
      ({ message }) => text(message),
    );
    server.registerTool(
      "count_to",
      { description: "Reports progress", inputSchema: z.object({ steps: z.number() }) },
      async ({ steps }, { mcpReq }) => {
        const { _meta: meta } = mcpReq;
        const { progressToken } = meta ?? {};
        const total = progressToken === undefined ? 0 : steps;
        for (let progress = 1; progress <= total; progress += 1) {
          const params = { progressToken: progressToken ?? "", progress, total };
          await mcpReq.notify({ method: "notifications/progress", params });
        }
        return text(String(steps));
      },
    );
    server.registerTool(
      "hang",
      { description: "Answers when it is told to stop", inputSchema: z.object({}) },
      async (_, { mcpReq }) => {
        note("hanging");
        await new Promise<void>((resolve) => {
          mcpReq.signal.addEventListener("abort", () => resolve(), { once: true });
        });
        note("stopped");
        return text("too late");
      },
    );
    server.registerTool(
      "grow",
      { description: "Adds a tool to the list", inputSchema: z.object({}) },
      () => {
        server.registerTool("grown", { description: "New", inputSchema: z.object({}) }, () =>
          text("new"),
        );
        return text("grown");
      },
    );
    return server;
  },
  { legacy: "reject", transport: new NotingTransport() },
);

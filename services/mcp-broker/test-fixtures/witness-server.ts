// An MCP server over stdio that writes down which broker talks to it: one line for each call, with
// the process number of its parent, the broker, and its own.

import { appendFile } from "node:fs/promises";
import { existsSync } from "node:fs";
import { until } from "@switchyard/local-servers/until";
import { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

const book = process.argv[2] ?? "";
if (process.argv[3] === "stubborn") {
  // Neither the end of stdin nor SIGTERM ends it.
  process.on("SIGTERM", () => undefined);
  setInterval(() => undefined, 1_000);
}

serveStdio(() => {
  const server = new McpServer(
    { name: "witness", version: "1.0.0" },
    { capabilities: { tools: {} } },
  );
  const inputSchema = z.object({ note: z.string() });
  server.registerTool("note", { description: "Writes a line", inputSchema }, async ({ note }) => {
    await appendFile(
      book,
      `${JSON.stringify({ note, broker: process.ppid, self: process.pid })}\n`,
    );
    return { content: [{ type: "text", text: String(process.pid) }] };
  });
  server.registerTool(
    "wait",
    {
      description: "Writes a line and answers when a file exists",
      inputSchema: z.object({ note: z.string(), until: z.string() }),
    },
    async ({ note, until: file }) => {
      await appendFile(
        book,
        `${JSON.stringify({ note, broker: process.ppid, self: process.pid })}\n`,
      );
      await until(() => existsSync(file));
      return { content: [{ type: "text", text: String(process.pid) }] };
    },
  );
  return server;
});

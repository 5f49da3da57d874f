import { McpServer } from "@modelcontextprotocol/server";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

/** The MCP server of the benchmarks: one tool that answers at once. */
const server = new McpServer({ name: "echo", version: "1.0.0" });
server.registerTool(
  "echo",
  { description: "Answers with its message", inputSchema: z.object({ message: z.string() }) },
  ({ message }) => ({ content: [{ type: "text" as const, text: message }] }),
);
await server.connect(new StdioServerTransport());

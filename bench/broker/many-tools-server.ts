import { createInterface } from "node:readline";

/** The MCP server of the listing benchmark, by hand: a thousand tools with small schemas. */
const tools = Array.from({ length: 1_000 }, (_, n) => ({
  name: `tool_${n}`,
  description: `Looks up the entry with number ${n} and returns its text.`,
  inputSchema: {
    type: "object",
    properties: { id: { type: "string", description: "Which one" }, limit: { type: "integer" } },
    required: ["id"],
  },
}));

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method } = JSON.parse(line) as { id?: number; method: string };
  if (id === undefined) return;
  const result =
    method === "initialize"
      ? {
          protocolVersion: "2025-11-25",
          capabilities: { tools: {} },
          serverInfo: { name: "many", version: "1" },
        }
      : method === "tools/list"
        ? { tools }
        : {};
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, result })}\n`);
});

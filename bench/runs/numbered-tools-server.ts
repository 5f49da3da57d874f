import { createInterface } from "node:readline";

/** An MCP server with as many tools as `TOOLS` says, each of which returns a text of the length that the call names. */
const tools = Array.from({ length: Number(process.env["TOOLS"]) }, (_, n) => ({
  name: `tool_${n}`,
  description: `Looks up the entry with number ${n} and returns its text.`,
  inputSchema: {
    type: "object",
    properties: { id: { type: "string", description: "Which one" }, length: { type: "integer" } },
    required: ["id"],
  },
}));

interface Request {
  readonly id?: number;
  readonly method: string;
  readonly params?: { readonly arguments?: { readonly length?: number } };
}

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line) as Request; // the broker's requests alone arrive here
  if (id === undefined) return;
  const result = resultOf(method, params?.arguments?.length ?? 200);
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, result })}\n`);
});

function resultOf(method: string, length: number): object {
  switch (method) {
    case "initialize":
      return {
        protocolVersion: "2025-11-25",
        capabilities: { tools: {} },
        serverInfo: { name: "numbered", version: "1" },
      };
    case "tools/list":
      return { tools };
    case "tools/call":
      return { content: [{ type: "text", text: "entry ".repeat(Math.ceil(length / 6)) }] };
    default:
      return {};
  }
}

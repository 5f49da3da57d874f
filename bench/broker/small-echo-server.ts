import { createInterface } from "node:readline";

/** An MCP server by hand with one tool: a hundred of them have to fit into a small machine. */
const tool = { name: "echo", inputSchema: { type: "object", properties: {} } };

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  process.stdout.write(
    `${JSON.stringify({ jsonrpc: "2.0", id, result: answer(method, params) })}\n`,
  );
}

function answer(method: string, params: { protocolVersion?: string; arguments?: unknown }): object {
  switch (method) {
    case "initialize":
      return {
        protocolVersion: params.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: "small-echo", version: "1.0.0" },
      };
    case "tools/list":
      return { tools: [tool] };
    case "tools/call":
      return { content: [{ type: "text", text: JSON.stringify(params.arguments) }] };
    default:
      return {};
  }
}

// An MCP server over stdio whose resources, prompts and log messages do what tests of the features need.

import { Server } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";

const text = (value: string) => ({ content: [{ type: "text" as const, text: value }] });
const tool = (name: string) => ({ name, inputSchema: { type: "object" as const } });

serveStdio(() => {
  const server = new Server(
    { name: "features", version: "1.0.0" },
    {
      capabilities: {
        tools: {},
        prompts: {},
        logging: {},
        resources: { subscribe: true },
      },
    },
  );
  const subscribed = new Set<string>();
  server.setRequestHandler("resources/list", () => ({ resources: [] }));
  server.setRequestHandler("resources/read", ({ params: { uri } }) => ({
    contents: [{ uri, text: "x".repeat(1_000_000) }],
  }));
  server.setRequestHandler("resources/subscribe", ({ params: { uri } }) => {
    subscribed.add(uri);
    return {};
  });
  server.setRequestHandler("resources/unsubscribe", ({ params: { uri } }) => {
    subscribed.delete(uri);
    return {};
  });
  // A list whose cursor never ends.
  server.setRequestHandler("prompts/list", ({ params }) => ({
    prompts: [{ name: `p${params?.cursor ?? ""}` }],
    nextCursor: String(Number(params?.cursor ?? 0) + 1),
  }));
  server.setRequestHandler("tools/list", () => ({
    tools: [tool("touch"), tool("log"), tool("die")],
  }));
  server.setRequestHandler("tools/call", async ({ params: { name, arguments: args = {} } }) => {
    if (name === "die") process.exit(3);
    if (name === "touch") {
      for (const uri of subscribed) await server.sendResourceUpdated({ uri });
      return text("touched");
    }
    for (let index = 0; index < Number(args["times"]); index += 1)
      await server.sendLoggingMessage({ level: "info", data: args["text"] });
    return text("logged");
  });
  return server;
});

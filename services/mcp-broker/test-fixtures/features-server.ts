// An MCP server over stdio whose resources, prompts and log messages do what tests of the features need; with the
// argument `modern` it speaks 2026-07-28 alone.

import { once } from "node:events";
import { Server } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";

const text = (value: string) => ({ content: [{ type: "text" as const, text: value }] });
const tool = (name: string) => ({ name, inputSchema: { type: "object" as const } });

const isModern = process.argv[2] === "modern";

const makeServer = (): Server => {
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
  // Many servers send an empty cursor for "no more"; this one begins anew when it receives it.
  server.setRequestHandler("resources/list", () => ({
    resources: [{ uri: "test://only", name: "only" }],
    nextCursor: "",
  }));
  server.setRequestHandler("resources/read", async ({ params: { uri } }, { mcpReq }) => {
    if (uri === "test://endless") await once(mcpReq.signal, "abort");
    return { contents: [{ uri, text: "x".repeat(1_000_000) }] };
  });
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
  server.setRequestHandler("tools/call", async ({ params }, { mcpReq }) => {
    const { name, arguments: args = {} } = params;
    if (name === "die") process.exit(3);
    if (name === "touch") {
      for (const uri of subscribed) await server.sendResourceUpdated({ uri });
      return text("touched");
    }
    for (let index = 0; index < Number(args["times"]); index += 1)
      // The client states from which level on: with 2026-07-28 in each request, before it in a request of its own.
      await (isModern
        ? mcpReq.log("info", args["text"])
        : server.sendLoggingMessage({ level: "info", data: args["text"] }));
    return text("logged");
  });
  return server;
};

serveStdio(makeServer, isModern ? { legacy: "reject" } : {});

// An MCP server over stdio that names its process in everything it offers.

import { Server } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";

const pid = String(process.pid);
const text = (value: string) => ({ content: [{ type: "text" as const, text: value }] });
const tool = (name: string) => ({ name, inputSchema: { type: "object" as const } });

serveStdio(() => {
  const server = new Server(
    { name: "scoped", version: "1.0.0" },
    {
      capabilities: {
        tools: {},
        prompts: {},
        completions: {},
        logging: {},
        resources: { subscribe: true },
      },
    },
  );
  let level = "none";
  server.setRequestHandler("logging/setLevel", ({ params }) => {
    ({ level } = params);
    return {};
  });
  server.setRequestHandler("tools/list", () => ({
    tools: [tool("pid"), tool("level"), tool("ask")],
  }));
  server.setRequestHandler("tools/call", async ({ params: { name } }) => {
    if (name === "pid") return text(pid);
    if (name === "level") return text(level);
    const { action } = await server.elicitInput({
      mode: "form",
      message: "Go on?",
      requestedSchema: { type: "object", properties: {} },
    });
    return text(action);
  });
  server.setRequestHandler("resources/list", () => ({
    resources: [{ uri: `process:///${pid}`, name: pid }],
  }));
  server.setRequestHandler("resources/templates/list", () => ({
    resourceTemplates: [{ uriTemplate: `process:///${pid}/{part}`, name: pid }],
  }));
  server.setRequestHandler("resources/read", ({ params: { uri } }) => ({
    contents: [{ uri, text: pid }],
  }));
  server.setRequestHandler("prompts/list", () => ({ prompts: [{ name: pid }] }));
  server.setRequestHandler("prompts/get", () => ({
    messages: [{ role: "user" as const, content: { type: "text" as const, text: pid } }],
  }));
  server.setRequestHandler("completion/complete", () => ({ completion: { values: [pid] } }));
  return server;
});

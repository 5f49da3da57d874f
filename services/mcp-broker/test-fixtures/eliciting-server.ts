// An MCP server over stdio whose tools want a person to open an address, and that reports when that has happened.

import { Server, UrlElicitationRequiredError } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";

const text = (value: string) => ({ content: [{ type: "text" as const, text: value }] });
const tool = (name: string) => ({ name, inputSchema: { type: "object" as const } });
const address = (elicitationId: string) => ({
  mode: "url" as const,
  message: "Log in first",
  url: `https://example.com/${elicitationId}`,
  elicitationId,
});

/** Longer than any test: the SDK's own 60 s withdraw a question that a test on a busy machine still needs. */
const ASKING = { timeout: 3_600_000 };

serveStdio(() => {
  const server = new Server(
    { name: "eliciting", version: "1.0.0" },
    { capabilities: { tools: {}, resources: {}, prompts: {} } },
  );
  const done = new Set<string>();
  const opened = (id: string): void => {
    if (!done.has(id)) throw new UrlElicitationRequiredError([address(id)], "open it first");
  };
  server.setRequestHandler("resources/read", ({ params: { uri } }) => {
    opened(uri.replace("demo://", ""));
    return { contents: [{ uri, text: "read" }] };
  });
  server.setRequestHandler("prompts/get", ({ params: { name } }) => {
    opened(name);
    return { messages: [{ role: "user", content: { type: "text", text: "got" } }] };
  });
  server.setRequestHandler("tools/list", () => ({
    tools: [tool("needs"), tool("finish"), tool("asks"), tool("odd")],
  }));
  server.setRequestHandler("tools/call", async ({ params: { name, arguments: args = {} } }) => {
    const id = String(args["id"]);
    switch (name) {
      case "needs":
        opened(id);
        return text("made");
      case "asks":
        return text((await server.elicitInput(address(id), ASKING)).action);
      case "odd":
        throw new UrlElicitationRequiredError(
          [{ ...address(id), url: "javascript:alert(1)" }],
          "open this",
        );
      default:
        done.add(id);
        await server.notification({
          method: "notifications/elicitation/complete",
          params: { elicitationId: id },
        });
        return text("told");
    }
  });
  return server;
});

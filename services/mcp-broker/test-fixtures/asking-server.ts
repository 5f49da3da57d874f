// An MCP server over Streamable HTTP that speaks protocol 2026-07-28 and whose tools ask back before they answer.

import { createServer } from "node:http";
import { Readable } from "node:stream";
import {
  acceptedContent,
  createMcpHandler,
  inputRequired,
  McpServer,
  type InputRequests,
} from "@modelcontextprotocol/server";
import { z } from "zod";

const ask = (message: string) =>
  inputRequired.elicit({ message, requestedSchema: z.object({ name: z.string().min(2) }) });
const text = (value: unknown) => ({
  content: [{ type: "text" as const, text: JSON.stringify(value) }],
});

const handler = createMcpHandler(() => {
  const server = new McpServer(
    { name: "asking", version: "1.0.0" },
    { capabilities: { tools: {} } },
  );
  server.registerTool(
    "everything",
    { description: "Asks a person, a model and for the roots", inputSchema: z.object({}) },
    (_args, { mcpReq: { inputResponses } }) =>
      inputResponses === undefined
        ? inputRequired({
            inputRequests: {
              person: ask("Who are you?"),
              model: inputRequired.createMessage({
                messages: [{ role: "user", content: { type: "text", text: "Greet." } }],
                maxTokens: 10,
              }),
              roots: inputRequired.listRoots(),
            },
            requestState: "round-1",
          })
        : text(inputResponses),
  );
  server.registerTool(
    "greet",
    { description: "Asks for a name", inputSchema: z.object({}) },
    (_args, { mcpReq: { inputResponses } }) =>
      inputResponses === undefined
        ? inputRequired({ inputRequests: { person: ask("Who are you?") } })
        : text(acceptedContent(inputResponses, "person") ?? inputResponses),
  );
  server.registerTool(
    "flood",
    { description: "Asks many questions at once", inputSchema: z.object({ count: z.number() }) },
    ({ count }, { mcpReq: { inputResponses } }) => {
      if (inputResponses !== undefined) return text(inputResponses);
      const inputRequests: InputRequests = {};
      for (let index = 0; index < count; index += 1) inputRequests[`q${index}`] = ask(`${index}?`);
      return inputRequired({ inputRequests });
    },
  );
  server.registerTool(
    "sample",
    { description: "Asks a model", inputSchema: z.object({ maxTokens: z.number() }) },
    ({ maxTokens }, { mcpReq: { inputResponses } }) => {
      const messages = [
        { role: "user" as const, content: { type: "text" as const, text: "Greet." } },
      ];
      return inputResponses === undefined
        ? inputRequired({
            inputRequests: { model: inputRequired.createMessage({ messages, maxTokens }) },
          })
        : text(inputResponses);
    },
  );
  return server;
});

createServer((request, response) => {
  const answer = async (): Promise<void> => {
    const reply = await handler.fetch(
      new Request(`http://${request.headers.host}${request.url}`, {
        method: request.method ?? "GET",
        headers: Object.entries(request.headers).flatMap(([name, value]): [string, string][] => [
          [name, String(value)],
        ]),
        ...(request.method === "POST" ? { body: Readable.toWeb(request), duplex: "half" } : {}),
      }),
    );
    response.writeHead(reply.status, Object.fromEntries(reply.headers));
    if (reply.body === null) response.end();
    else Readable.fromWeb(reply.body).pipe(response);
  };
  answer().catch((error: unknown) => response.writeHead(500).end(String(error)));
}).listen(Number(process.env["PORT"] ?? 0), "127.0.0.1", () => {
  process.stdout.write("listening\n");
});

// An MCP server over Streamable HTTP that speaks protocol 2026-07-28: prints its port and serves until it is ended.

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";

const token = process.env["EXPECTED_TOKEN"];
const handler = createMcpHandler(() => {
  const server = new McpServer(
    { name: "modern", version: "1.0.0" },
    { capabilities: { tools: {} } },
  );
  server.registerTool(
    "echo",
    { description: "Says it again", inputSchema: z.object({ message: z.string() }) },
    ({ message }) => ({
      content: [{ type: "text", text: message }],
    }),
  );
  return server;
});

const server = createServer((request, response) => {
  const answer = async (): Promise<void> => {
    if (token !== undefined && request.headers.authorization !== `Bearer ${token}`) {
      response.writeHead(401).end("not you");
      return;
    }
    const hasBody = request.method === "POST";
    const reply = await handler.fetch(
      new Request(`http://${request.headers.host}${request.url}`, {
        method: request.method ?? "GET",
        headers: Object.entries(request.headers).flatMap(([name, value]): [string, string][] => [
          [name, String(value)],
        ]),
        ...(hasBody ? { body: Readable.toWeb(request), duplex: "half" } : {}),
      }),
    );
    response.writeHead(reply.status, Object.fromEntries(reply.headers));
    if (reply.body === null) response.end();
    else Readable.fromWeb(reply.body).pipe(response);
  };
  answer().catch((error: unknown) => response.writeHead(500).end(String(error)));
});
server.listen(Number(process.env["PORT"] ?? 0), "127.0.0.1", () => {
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`);
});

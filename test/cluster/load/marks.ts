// An MCP server over HTTP whose calls have a countable effect. GET /marks returns how often each call was executed. It runs in the image of the
// services, from a ConfigMap; JSON-RPC by hand, since the image has no package for servers.
import { createServer } from "node:http";
import { setTimeout as delay } from "node:timers/promises";

const marks = new Map<string, number>();

const tool = {
  name: "mark",
  description: "Counts the call and waits",
  inputSchema: {
    type: "object",
    properties: {
      run: { type: "string" },
      place: { type: "string" },
      takesMs: { type: "number" },
    },
    required: ["run", "place"],
  },
};

interface Message {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: {
    readonly protocolVersion?: string;
    readonly arguments?: { run: string; place: string; takesMs?: number };
  };
}

async function answer({ method, params }: Message): Promise<unknown> {
  if (method === "initialize")
    return {
      protocolVersion: params?.protocolVersion ?? "2025-06-18",
      capabilities: { tools: {} },
      serverInfo: { name: "marks", version: "1.0.0" },
    };
  if (method === "tools/list") return { tools: [tool] };
  if (method !== "tools/call") return {};
  const { run = "", place = "", takesMs = 0 } = params?.arguments ?? {};
  const key = `${run}/${place}`;
  marks.set(key, (marks.get(key) ?? 0) + 1);
  await delay(takesMs);
  return { content: [{ type: "text", text: `marked ${key}` }] };
}

const server = createServer((request, response) => {
  const json = (status: number, body: unknown): void => {
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(body));
  };
  if (request.url === "/marks") return json(200, Object.fromEntries(marks));
  if (request.method !== "POST") return json(405, {});
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const message: Message = JSON.parse(Buffer.concat(chunks).toString("utf8"));
    if (message.id === undefined) {
      response.writeHead(202).end();
      return;
    }
    void answer(message).then((result) => json(200, { jsonrpc: "2.0", id: message.id, result }));
  });
});
server.listen(8080);
process.on("SIGTERM", () => process.exit(0));

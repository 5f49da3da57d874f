// MCP servers that misbehave, by hand so that they can: `hostile-server.ts <mode>`.

import { createInterface } from "node:readline";

const mode = process.argv[2] ?? "";
const send = (message: object): void =>
  void process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
const tool = (name: string) => ({
  name,
  description: `tool ${name}`,
  inputSchema: { type: "object" },
});

/** Lists in two pages, with two names that many clients cannot distinguish. */
const pages = [
  { tools: [tool("zeta"), tool("read-file")], nextCursor: "2" },
  { tools: [tool("read_file"), tool("alpha")] },
];

if (mode === "exits") {
  process.stderr.write("configuration is missing\n");
  process.exit(7);
}
if (mode === "leaks") process.stderr.write(`started with ${process.env["SECRET"]}\nready\n`);
if (mode === "deaf") {
  // Neither the end of stdin nor SIGTERM ends it.
  process.on("SIGTERM", () => undefined);
  setInterval(() => undefined, 1_000);
}
if (mode === "garbage")
  process.stdout.write('starting up…\n{"half": \n[1,2]\nnull\n{"no":"jsonrpc"}\n\n');

if (mode === "chats") {
  process.stdout.write("welcome\nplease log in\n");
  process.stderr.write("waits for a login\n");
}

const FLOOD_CHUNK = "x".repeat(1024 * 1024);
const FLOOD_CHUNKS = 50;

createInterface({ input: process.stdin }).on("line", (line) => {
  if (mode === "silent" || mode === "chats") return;
  if (mode === "half") return void process.stdout.write('{"jsonrpc":"2.0","id":0,"result":{"proto');
  const { id, method, params } = JSON.parse(line) as {
    id?: number;
    method: string;
    params?: { cursor?: string };
  };
  if (id === undefined) return;
  if (mode === "refuses-all")
    return send({ id, error: { code: -32_601, message: `no ${method} here` } });
  if (mode === "wrong-ids") return send({ id: id + 1_000, result: {} });
  switch (method) {
    case "initialize":
      return send({
        id,
        result: {
          protocolVersion: "2025-06-18",
          capabilities: { tools: {} },
          serverInfo: { name: mode, version: "0" },
        },
      });
    case "tools/list":
      if (mode === "hangs-in-list") return undefined;
      return send({ id, result: params?.cursor === "2" ? pages[1] : pages[0] });
    case "tools/call":
      if (mode === "refuses")
        return send({
          id,
          error: { code: -32_099, message: `no such table, token ${process.env["SECRET"]}` },
        });
      if (mode !== "flood")
        return send({ id, result: { content: [{ type: "text", text: "fine" }] } });
      for (let n = 0; n < FLOOD_CHUNKS; n += 1) process.stdout.write(FLOOD_CHUNK);
      return undefined;
    default:
      return send({ id, error: { code: -32_601, message: "unknown method" } });
  }
});

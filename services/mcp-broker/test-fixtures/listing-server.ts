// An MCP server over stdio, by hand, whose tools and results come from a file that a test rewrites:
// `listing-server.ts <file>` with {"pages": [{"tools": […]}], "results": {"<tool>": {…}}}.
// The tool `notify` reports that the list changed, and `echo` returns its arguments. Names of called tools are appended to
// `<file>.calls`.

import { appendFileSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";

const file = process.argv[2] ?? "";

interface Script {
  readonly pages: readonly object[];
  readonly results?: Readonly<Record<string, object>>;
}

const script = (): Script => JSON.parse(readFileSync(file, "utf8")) as Script;
const send = (message: object): void =>
  void process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line) as {
    id?: number;
    method: string;
    params?: { cursor?: string; name?: string; arguments?: object };
  };
  if (id === undefined) return;
  switch (method) {
    case "initialize":
      return send({
        id,
        result: {
          protocolVersion: "2025-06-18",
          capabilities: { tools: { listChanged: true } },
          serverInfo: { name: "listing", version: "0" },
        },
      });
    case "tools/list":
      return send({ id, result: script().pages[Number(params?.cursor ?? "0")] });
    case "tools/call": {
      const name = params?.name ?? "";
      appendFileSync(`${file}.calls`, `${name}\n`);
      if (name === "notify") send({ method: "notifications/tools/list_changed" });
      const text = name === "echo" ? JSON.stringify(params?.arguments) : "fine";
      const fine = { content: [{ type: "text", text }] };
      return send({ id, result: script().results?.[name] ?? fine });
    }
    default:
      return send({ id, result: {} });
  }
});

// A stdio server whose tool `say` writes the lines that it is told, `$id` standing for the call's own id. With the
// argument `drips` its list, read again, has no end: a page each 100 ms.

import { createInterface } from "node:readline";

const answer = (id: unknown, result: object): void =>
  void process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, result })}\n`);

const tools = [{ name: "say", inputSchema: { type: "object" } }];
const drips = process.argv[2] === "drips";
let pages = 0;

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined || method === undefined) return undefined;
  switch (method) {
    case "initialize":
      return answer(id, {
        protocolVersion: "2025-06-18",
        capabilities: { tools: {} },
        serverInfo: { name: "parrot", version: "0" },
      });
    case "tools/list":
      pages += 1;
      if (!drips || pages === 1) return answer(id, { tools });
      return void setTimeout(() => answer(id, { tools: [], nextCursor: String(pages) }), 100);
    default:
      for (const said of params.arguments.lines)
        process.stdout.write(`${said.replaceAll("$id", JSON.stringify(id))}\n`);
  }
});

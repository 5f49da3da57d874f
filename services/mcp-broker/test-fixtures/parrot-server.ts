// A stdio server whose tool `say` writes the lines of its arguments, with the call's own id for `$id`, the line of the
// call as JSON text for `$line`, and 11 MiB of text for `$long`. The line `$exit` is written without its end, which ends the server. With the argument `drips` its list, read again, has no end: a page each 100 ms. With `modern` it
// speaks 2026-07-28 alone.

import { createInterface } from "node:readline";

const answer = (id: unknown, result: object): void =>
  void process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, result })}\n`);

const refuse = (id: unknown, method: string): void => {
  const error = { code: -32_601, message: `no ${method} here` };
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, error })}\n`);
};

/** Answers with something that is nested as deeply as the number at the end of a name. */
function deep(id: unknown, name: string, result: (nested: string) => string): void {
  const depth = Number(name.split(":").at(-1));
  const nested = "[".repeat(depth) + "]".repeat(depth);
  process.stdout.write(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result(nested)}}\n`);
}

const inputSchema = { type: "object", properties: { id: { type: "integer" } } };
const tools = [{ name: "say", inputSchema }];
const drips = process.argv[2] === "drips";
const isModern = process.argv[2] === "modern";
const complete = { resultType: "complete", ttlMs: 0, cacheScope: "private" };
let pages = 0;

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined || method === undefined) return undefined;
  switch (method) {
    case "server/discover":
      if (!isModern) return refuse(id, method);
      return answer(id, {
        ...complete,
        supportedVersions: ["2026-07-28"],
        capabilities: { tools: {} },
      });
    case "initialize":
      if (isModern) return refuse(id, method);
      return answer(id, {
        protocolVersion: "2025-06-18",
        capabilities: { tools: {}, resources: {}, prompts: {}, completions: {} },
        serverInfo: { name: "parrot", version: "0" },
      });
    case "tools/list":
      pages += 1;
      if (!drips || pages === 1) return answer(id, { ...(isModern && complete), tools });
      return void setTimeout(() => answer(id, { tools: [], nextCursor: String(pages) }), 100);
    case "resources/read":
      return deep(
        id,
        params.uri,
        (nested) => `{"contents":[{"uri":"x","text":"","_meta":{"more":${nested}}}]}`,
      );
    case "prompts/get":
      return deep(
        id,
        params.name,
        (nested) =>
          `{"messages":[{"role":"user","content":{"type":"text","text":"","_meta":{"more":${nested}}}}]}`,
      );
    case "completion/complete":
      return deep(id, params.ref.name, (nested) => `{"completion":{"values":[]},"more":${nested}}`);
    default:
      for (const said of params.arguments.lines) {
        const written = said
          .replaceAll("$id", JSON.stringify(id))
          .replaceAll("$line", () => JSON.stringify(line))
          .replaceAll("$long", "x".repeat(11 * 1024 * 1024));
        if (!written.endsWith("$exit")) process.stdout.write(`${written}\n`);
        else process.stdout.write(written.replace("$exit", ""), () => process.exit(0));
      }
  }
});

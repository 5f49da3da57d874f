import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after } from "node:test";
import { promisify } from "node:util";
import { testDirectory } from "@switchyard/testing/test-servers";

/** An MCP server in one file: the tool `stamp` puts a mark on a text. */
const SERVER = `#!/usr/bin/env node
import { createInterface } from "node:readline";
const tool = {
  name: "stamp",
  description: "Puts a mark on a text.",
  inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
};
const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "stamps", version: "1.0.0" },
  }),
  ping: () => ({}),
  "tools/list": () => ({ tools: [tool] }),
  "tools/call": (params) => ({ content: [{ type: "text", text: "stamped " + params.arguments.text }] }),
};
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  const answer = answers[method];
  const outcome = answer
    ? { result: answer(params ?? {}) }
    : { error: { code: -32601, message: "Method not found" } };
  console.log(JSON.stringify({ jsonrpc: "2.0", id, ...outcome }));
}
`;

/**
 * A registry with one package, `yard-test-stamps`, for `npx`: an MCP server. Counts how often its tarball was fetched; closed when the
 * test ends.
 */
export async function startSmallRegistry(
  host: string,
): Promise<{ readonly url: string; readonly fetched: () => number }> {
  const folder = await testDirectory();
  const about = {
    name: "yard-test-stamps",
    version: "1.0.0",
    type: "module",
    bin: { "yard-test-stamps": "server.js" },
  };
  await writeFile(join(folder, "server.js"), SERVER);
  await writeFile(join(folder, "package.json"), JSON.stringify(about));
  await promisify(execFile)("npm", ["pack", "--silent"], { cwd: folder });
  const tarball = await readFile(join(folder, "yard-test-stamps-1.0.0.tgz"));
  const integrity = `sha512-${createHash("sha512").update(tarball).digest("base64")}`;
  let fetched = 0;
  let url = "";
  const server = createServer((request, response) => {
    if (request.url === "/stamps.tgz") {
      fetched += 1;
      response.end(tarball);
      return;
    }
    const isPackage = request.url === `/${about.name}`;
    const dist = { tarball: `${url}/stamps.tgz`, integrity };
    const page = {
      ...about,
      "dist-tags": { latest: "1.0.0" },
      versions: { "1.0.0": { ...about, dist } },
    };
    response.writeHead(isPackage ? 200 : 404, { "content-type": "application/json" });
    response.end(JSON.stringify(isPackage ? page : {}));
  });
  server.listen(0, host);
  await once(server, "listening");
  after(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  });
  // A TCP server's address is not a pipe's name.
  url = `http://${host}:${(server.address() as AddressInfo).port}`;
  return { url, fetched: () => fetched };
}

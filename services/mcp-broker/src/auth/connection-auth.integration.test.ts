import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { createEgressGuard, parsePrivateHosts } from "@switchyard/service/network/egress-guard";
import { switchableServer } from "../../test-fixtures/switchable-server.ts";
import { guardedFetch } from "./connection-auth.ts";

test("an authorization server cannot fill the memory with what it answers, packed or not", async () => {
  const guard = createEgressGuard({
    permitted: parsePrivateHosts("loopback"),
    setting: "YARD_MCP_ALLOW_PRIVATE_HOSTS",
  });
  const packed = gzipSync(Buffer.alloc(8 * 1024 * 1024));
  const server = await switchableServer((request, response) => {
    if (request.url === "/packed") {
      response.writeHead(200, { "content-encoding": "gzip" });
      return response.end(packed);
    }
    const more = (): void => void response.write("x".repeat(64 * 1024));
    response.on("drain", more);
    return more();
  });
  const { fetch, close } = guardedFetch(guard, { url: server.url, headers: {} });
  for (const path of ["/packed", "/endless"]) {
    const response = await fetch(new URL(path, server.url));
    await assert.rejects(response.text(), /exceeds the limit of 1048576 bytes/);
  }
  close();
});

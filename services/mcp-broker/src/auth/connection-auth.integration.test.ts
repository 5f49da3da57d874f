import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { createEgressGuard, parsePrivateHosts } from "@switchyard/service/network/egress-guard";
import { switchableServer } from "../../test-fixtures/switchable-server.ts";
import { withGuardedFetch } from "./connection-auth.ts";

const guard = createEgressGuard({
  permitted: parsePrivateHosts("loopback"),
  setting: "YARD_MCP_ALLOW_PRIVATE_HOSTS",
});

test("metadata and token requests are not redirected to another origin, only within their own", async () => {
  const reached: string[] = [];
  const other = await switchableServer((request, response) => {
    reached.push(request.url ?? "");
    response.end();
  });
  const server = await switchableServer((request, response) => {
    if (request.url === "/here") return response.end("here");
    const location = request.url === "/moved" ? "/here" : `${other.url}?state=canary`;
    return response.writeHead(302, { location }).end();
  });
  const launch = { url: server.url, headers: { "X-Key": "k" } };
  await withGuardedFetch(guard, launch, async (fetch) => {
    assert.equal(await (await fetch(new URL("/moved", server.url))).text(), "here");
    for (const method of ["GET", "POST"])
      await assert.rejects(fetch(new URL("/away", server.url), { method }), (error) => {
        assert.match(
          String(error),
          /\/away redirects to another origin, http:\/\/.*name that address/,
        );
        assert.doesNotMatch(String(error), /canary/);
        return true;
      });
  });
  assert.deepEqual(reached, []);
});

test("an authorization server cannot fill the memory with what it answers, packed or not", async () => {
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
  await withGuardedFetch(guard, { url: server.url, headers: {} }, async (fetch) => {
    for (const path of ["/packed", "/endless"]) {
      const response = await fetch(new URL(path, server.url));
      await assert.rejects(response.text(), /exceeds the limit of 1048576 bytes/);
    }
  });
});

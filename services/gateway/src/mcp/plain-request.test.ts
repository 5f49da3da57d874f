import assert from "node:assert/strict";
import { test } from "node:test";
import { classifyInboundRequest } from "@modelcontextprotocol/server";
import { plainRequestIn } from "./plain-request.ts";

const VERSION = "2026-07-28";
const META = {
  "io.modelcontextprotocol/protocolVersion": VERSION,
  "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": { elicitation: {} },
};

/** A call of the tool `echo` with changes, as the gateway reads it. */
function plainOf({
  body = {},
  params = {},
  meta = {},
  headers = {},
}: Readonly<Record<string, Record<string, unknown>>>) {
  const call = { name: "echo", arguments: { a: 1 }, _meta: { ...META, ...meta }, ...params };
  const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params: call, ...body };
  const stated = { version: VERSION, method: "tools/call", name: "echo", ...headers };
  const route = classifyInboundRequest({
    httpMethod: "POST",
    body: message,
    ...(stated.version !== undefined && { protocolVersionHeader: stated.version }),
  });
  return plainRequestIn(route, stated);
}

test("a well-formed call that one message answers is plain", () => {
  const plain = plainOf({});
  assert.deepEqual([plain?.id, plain?.name, plain?.args], [1, "echo", { a: 1 }]);
  assert.deepEqual(plainOf({ params: { arguments: undefined } })?.args, {});
});

test("requests that the SDK refuses or answers with more than one message are not plain", () => {
  const others: Parameters<typeof plainOf>[0][] = [
    { headers: { name: "other" } },
    { headers: { name: undefined } },
    { headers: { method: undefined } },
    { headers: { version: undefined } },
    { meta: { progressToken: 1 } },
    { meta: { "io.modelcontextprotocol/clientCapabilities": 5 } },
    {
      meta: { "io.modelcontextprotocol/protocolVersion": "2027-01-01" },
      headers: { version: "2027-01-01" },
    },
    { params: { requestState: "once:mcp-1 apr-1" } },
    { params: { inputResponses: {} } },
    { params: { task: { ttl: 1 } } },
    { params: { arguments: [] } },
    { params: { _meta: undefined } },
    { body: { method: "resources/list" }, headers: { method: "resources/list" } },
    { body: { id: undefined } },
    { body: { jsonrpc: "1.0" } },
  ];
  for (const one of others) assert.equal(plainOf(one), null, JSON.stringify(one));
});

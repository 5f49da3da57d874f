import assert from "node:assert/strict";
import { test } from "node:test";
import { invalidParams, lenientMessages } from "./mcp-requests.ts";

const request = (method: string, params: unknown) => ({ jsonrpc: "2.0", id: 1, method, params });

test("optional members of a client's request that are null count as absent", () => {
  const call = request("tools/call", { name: "a", arguments: null, _meta: null });
  assert.deepEqual(lenientMessages([call]), [request("tools/call", { name: "a" })]);
  const { params: _, ...bare } = request("tools/list", null);
  assert.deepEqual(lenientMessages(request("tools/list", null)), bare);
  const plain = request("tools/call", { name: "a", arguments: { b: null } });
  assert.equal(lenientMessages(plain), plain);
});

test("parameters of a wrong type get an error that names the member, and no validator's report", () => {
  for (const [method, params, member] of [
    ["tools/call", { name: 5 }, "params.name"],
    ["tools/call", { name: "a", arguments: "{}" }, "params.arguments"],
    ["tools/list", { cursor: 2 }, "params.cursor"],
    ["resources/read", {}, "params.uri"],
    ["prompts/get", { name: "p", arguments: { a: 1 } }, "params.arguments.a"],
    ["initialize", { protocolVersion: "2025-11-25", capabilities: {} }, "params.clientInfo"],
    ["tools/list", [], "params"],
  ] as const) {
    const { code, message } = (invalidParams(request(method, params)) as any).error; // oxlint-disable-line typescript/no-explicit-any -- a test reads any shape
    assert.equal(code, -32_602);
    assert.ok(message.startsWith(`${method} is not valid: ${member}: `), message);
    assert.doesNotMatch(message, /"code"|"path"/);
  }
  assert.equal(invalidParams(request("tools/call", { name: "a", arguments: {} })), null);
  assert.equal(invalidParams(request("example/own", { name: 5 })), null);
  assert.equal(invalidParams({ method: "tools/call", params: 5 }), null);
});

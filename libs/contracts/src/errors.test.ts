import assert from "node:assert/strict";
import { test } from "node:test";
import { failuresOf, isError, isRetryable, ServiceError, STANDARD_CODES } from "./errors.ts";
import { callTool, listTools } from "./mcp-broker/mcp.ts";

test("builds declared errors with the contract's word on retries", () => {
  const fail = failuresOf(callTool.errors);
  const down = fail.server_down("github is down", {
    server: "github",
    status: "disconnected",
    lastError: null,
  });
  const timeout = fail.tool_timeout("no answer within 30 s", { timeoutMs: 30_000 });

  assert.equal(isRetryable(down), true);
  assert.equal(isRetryable(timeout), false);
  assert.ok(isError(down, callTool, "server_down"));
  assert.equal(down.data.server, "github");
});

test("does not take an error for one that its contract does not declare", () => {
  const foreign = new ServiceError("server_down", "down");
  // `server_down` is declared by callTool only, and a prototype's property is not a declaration.
  assert.equal(isError(foreign, listTools, "server_down" as "unknown_server"), false);
  assert.equal(isError(foreign, callTool, "constructor" as "server_down"), false);
  assert.equal(isError(new Error("plain"), callTool, "server_down"), false);
});

test("retries only what provably did nothing", () => {
  const retryable = STANDARD_CODES.filter((code) => isRetryable(new ServiceError(code, "x")));
  assert.deepEqual(retryable, ["overloaded", "storage_full", "no_responders", "disconnected"]);
});

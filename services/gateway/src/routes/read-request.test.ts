import assert from "node:assert/strict";
import { test } from "node:test";
import { callTool } from "@switchyard/contracts/mcp";
import { startRun } from "@switchyard/contracts/runs";
import { readRequest } from "./read-request.ts";
import { shapeOf } from "./route-shape.ts";
import { routes } from "./route-table.ts";

function idOf(contract: typeof callTool | typeof startRun, idempotencyKey?: string): unknown {
  const route = routes.find((one) => one.contract === contract) ?? assert.fail(contract.name);
  const isCall = contract === callTool;
  const { request } = readRequest(route, shapeOf(route), {
    path: isCall ? { server: "files", tool: "read" } : {},
    query: new URLSearchParams(),
    body: isCall ? { args: {} } : { agent: "demo", input: "go" },
    idempotencyKey,
    ifMatch: undefined,
    caller: "team-a",
  });
  return Reflect.get(Object(request), isCall ? "callId" : "runId");
}

test("one Idempotency-Key is one run and one call, and without it only a run has an id", () => {
  for (const contract of [startRun, callTool]) {
    const id = idOf(contract, "order-1");
    assert.match(String(id), /^i[0-9a-f]{40}$/);
    assert.equal(idOf(contract, "order-1"), id);
    assert.notEqual(idOf(contract, "order-2"), id);
  }
  assert.notEqual(idOf(startRun), idOf(startRun));
  assert.equal(typeof idOf(startRun), "string");
  assert.equal(idOf(callTool), undefined);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { callTool } from "@switchyard/contracts/mcp-broker/mcp";
import { startRun } from "@switchyard/contracts/agent-runner/runs";
import { readRequest } from "./read-request.ts";
import { shapeOf } from "./route-shape.ts";
import { routes } from "./route-table.ts";

function idOf(contract: typeof callTool | typeof startRun, idempotencyKey?: string): unknown {
  const route = routes.find((one) => one.contract === contract) ?? assert.fail(contract.name);
  const isCall = contract === callTool;
  const { request } = readRequest(route, shapeOf(route), {
    path: isCall ? { server: "files", tool: "read" } : {},
    query: new URLSearchParams(),
    body: { value: isCall ? { args: {} } : { agent: "demo", input: "go" }, isLarge: false },
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

test("unknown names are refused, 20 of them are listed, and none reaches the prototype", () => {
  const route = routes.find(({ contract }) => contract === startRun) ?? assert.fail();
  const value = JSON.parse(
    `{"agent":"demo","input":"go","__proto__":{"runId":"x"},${Array.from({ length: 100 }, (_, key) => `"k${key}":1`).join()}}`,
  ) as unknown;
  const given = {
    path: {},
    query: new URLSearchParams("constructor=1"),
    body: { value, isLarge: false },
    idempotencyKey: undefined,
    ifMatch: undefined,
    caller: "team-a",
  };
  assert.throws(
    () => readRequest(route, shapeOf(route), given),
    ({ data }: { data: { problems: string[] } }) => {
      assert.equal(data.problems.length, 20);
      assert.match(data.problems[0] ?? "", /__proto__: is unknown/);
      return true;
    },
  );
});

test("all problems of a request are listed at once, under the names of the route", () => {
  const problemsOf = (path: string, body: unknown): string[] => {
    const route = routes.find((one) => one.path === path && one.method !== "get") ?? assert.fail();
    const given = {
      path: path.includes("{id}")
        ? { id: "files" }
        : path.includes("{jobId}")
          ? { jobId: "j" }
          : {},
      query: new URLSearchParams("colour=red"),
      body: { value: body, isLarge: false },
      idempotencyKey: undefined,
      ifMatch: undefined,
      caller: "team-a",
    };
    try {
      readRequest(route, shapeOf(route), given);
    } catch (error) {
      return (error as { data: { problems: string[] } }).data.problems;
    }
    return [];
  };
  assert.deepEqual(problemsOf("/runs", { agnet: "demo", model: 7, limits: { maxStep: 3 } }), [
    "agnet: is unknown; did you mean agent?",
    "colour: is unknown",
    "agent: is missing",
    "input: must be a text, a JSON object, or 1-64 parts: texts, and files as POST /files returns them",
    "model: must be a text",
    "limits: maxStep is unknown; did you mean maxSteps?",
  ]);
  assert.deepEqual(problemsOf("/schedules/{jobId}", { enabled: "yes" }), [
    "colour: is unknown",
    "enabled: must be true or false",
  ]);
  assert.deepEqual(problemsOf("/mcp/servers/{id}/enable", {}), [
    "colour: is unknown",
    "enabled: is missing",
  ]);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import type { RunSummary } from "@switchyard/client/operations";
import { withChanges } from "../src/core/run-changes.ts";

const rows = [run("c", 3), run("b", 2), run("a", 1)];
const ids = (all: readonly RunSummary[]): string => all.map(({ runId }) => runId).join(" ");

test("a changed run stays in its position, and one that no longer fits the filters is removed", () => {
  const found = [{ ...run("b", 2), status: "failed" as const }];
  const after = withChanges(rows, { ids: ["b", "c"], found });
  assert.equal(ids(after), "b a");
  assert.equal(after[0]?.status, "failed");
  assert.equal(after[1], rows[2], "an unchanged row is the same object");
});

test("a new run is put where its begin belongs, and not into an order that only the server knows", () => {
  const change = { ids: ["d", "e"], found: [run("d", 4), run("e", 2.5)] };
  assert.equal(ids(withChanges(rows, change)), "d c e b a");
  assert.equal(ids(withChanges(rows, { ...change, sort: "longest" })), "c b a");
});

function run(runId: string, second: number): RunSummary {
  const createdAt = new Date(second * 1_000).toISOString();
  const facts = {
    steps: 1,
    toolCalls: 0,
    attempts: 1,
    labels: {},
    createdAt,
    updatedAt: createdAt,
  };
  return { runId, agent: "a", requester: "me", model: "p/m", status: "running", ...facts };
}

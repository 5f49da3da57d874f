import assert from "node:assert/strict";
import { test } from "node:test";
import { DeadLetter, DeadRun } from "@switchyard/contracts/agent-runner/runs";
import { deadPage } from "./dead-letters.ts";

const failure = { code: "too_many_attempts", message: "runners died" };
const timeOf = (ms: number) => new Date(ms).toISOString();

function rowOf(ms: number, runId: string) {
  const run = DeadRun.parse({
    runId,
    agent: "demo",
    requester: "cli",
    model: "scripted/plan",
    status: "dead",
    steps: 1,
    toolCalls: 1,
    createdAt: timeOf(ms),
    updatedAt: timeOf(ms),
    attempts: 3,
    labels: {},
    failure,
  });
  return { cursor: `${ms}:${runId}`, run };
}

function letterOf(ms: number, streamSequence: number) {
  const subject = "yard.cmd.cli.run.start.demo";
  const sentAt = timeOf(ms);
  return DeadLetter.parse({
    runId: `l${ms}`,
    subject,
    caller: "cli",
    streamSequence,
    sentAt,
    failure,
  });
}

const rows = [rowOf(9_000, "a"), rowOf(7_000, "z"), rowOf(7_000, "b"), rowOf(1_000, "c")];
const letters = [letterOf(8_000, 1), letterOf(7_000, 2), letterOf(500, 3)];

test("pages of any size hold each dead run and command once, latest first", () => {
  for (const limit of [1, 2, 3, 7, 50]) {
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const page = deadPage({ dead: { rows, next: null }, letters }, { limit, cursor });
      assert.ok(page.runs.length + page.letters.length <= limit);
      seen.push(...[...page.runs, ...page.letters].map(({ runId }) => runId));
      cursor = page.next;
    } while (cursor !== null);
    assert.deepEqual(seen.toSorted(), ["a", "b", "c", "l500", "l7000", "l8000", "z"]);
    if (limit === 1) assert.deepEqual(seen, ["a", "l8000", "z", "l7000", "b", "c", "l500"]);
  }
});

test("a command older than the end of the search for runs waits for its page", () => {
  const dead = { rows: rows.slice(0, 2), next: "7000:z" };
  const page = deadPage({ dead, letters }, { limit: 50, cursor: null });
  assert.deepEqual(
    page.letters.map(({ runId }) => runId),
    ["l8000"],
  );
  assert.equal(page.next, "7000:z");
});

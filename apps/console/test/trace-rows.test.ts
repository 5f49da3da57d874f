import assert from "node:assert/strict";
import { test } from "node:test";
import type { RunMessage } from "@switchyard/client/follow";
import { clockText, runText, toolText } from "../src/core/names.ts";
import { failureWords } from "../src/run/failure-words.ts";
import { raisedLimit } from "../src/run/limits.ts";
import { RunStory, type Span } from "../src/run/run-story.ts";
import { argumentsText, nextError, traceRows } from "../src/run/trace-rows.ts";

const AT = "2026-01-01T00:00:00.000Z";

function message(event: string, seq: number, data: object): RunMessage {
  const whole = { event, id: seq, data: { runId: "me~r", seq, at: AT, ...data } };
  return whole as RunMessage; // each test gives the fields of its kind
}

const call = (seq: number, callId: string, tool: string, args: object): RunMessage =>
  message("tool-requested", seq, { step: 1, callId, tool, argsPreview: JSON.stringify(args) });
const model = (seq: number, step: number): RunMessage =>
  message("model-responded", seq, {
    step,
    model: "m",
    text: "",
    toolCalls: 1,
    usage: { inputTokens: 1, outputTokens: 1 },
    durationMs: 1,
    costUsd: 0,
  });

function spans(): readonly Span[] {
  const story = new RunStory();
  for (const one of [
    message("started", 1, { requester: "me" }),
    model(2, 1),
    call(3, "c1", "mcp__files__edit_file", { path: "a.md", edits: [1] }),
    call(4, "c2", "agent", { agent: "reader" }),
    message("child-started", 5, { callId: "c2", childRunId: "me~c", agent: "reader" }),
    message("tool-failed", 6, { step: 1, callId: "c1", code: "gone", message: "no file" }),
    model(7, 2),
  ])
    story.take(one);
  return story.spans;
}

const ALL = { folded: new Set<string>(), filter: "", hasNotes: true };

test("calls are below their step and what they started below them, and a folded step hides them", () => {
  const rows = traceRows(spans(), ALL);
  assert.deepEqual(
    rows.map(({ span, depth, below }) => [span.title, depth, below]),
    [
      ["started by me", 0, 0],
      ["m", 0, 3],
      ["files › edit_file", 1, 0],
      ["agent", 1, 0],
      ["child run of reader", 2, 0],
      ["m", 0, 0],
    ],
  );
  const step = rows[1]?.span.id ?? "";
  const folded = traceRows(spans(), { ...ALL, folded: new Set([step]) });
  assert.deepEqual([folded.length, folded[1]?.isFolded, folded[1]?.below], [3, true, 3]);
  const found = traceRows(spans(), { ...ALL, folded: new Set([step]), filter: "NO FILE" });
  assert.deepEqual(
    found.map(({ span }) => span.title),
    ["files › edit_file"],
    "a filter finds lines of folded steps",
  );
  assert.equal(traceRows(spans(), { ...ALL, hasNotes: false }).length, 5);
});

test("the next error is the one after the picked line, and the first one after the last", () => {
  const all = spans();
  const failed = nextError(all, null);
  assert.equal(failed?.title, "files › edit_file");
  assert.equal(nextError(all, all.at(-1)?.id ?? "")?.id, failed?.id);
  assert.equal(nextError(all.slice(0, 2), null), null);
  assert.equal(argumentsText(all[2] as Span), "path: a.md, edits: [1]"); // the second call of the test
});

test("a call that its run waits for is waiting, and runs again when the run is woken", () => {
  const story = new RunStory();
  const wait = {
    reason: "approval",
    callId: "c1",
    tool: "write",
    until: null,
    approvalId: "apr-1",
  };
  for (const one of [
    message("started", 1, { requester: "me" }),
    call(2, "c1", "write", {}),
    message("waiting", 3, { waits: [wait], until: null }),
  ])
    story.take(one);
  assert.deepEqual([story.spans[1]?.status, story.spans[1]?.approvalIds], ["waiting", ["apr-1"]]);
  story.take(message("woken", 4, { attempt: 2 }));
  assert.equal(story.spans[1]?.status, "running");
});

test("a failure is in words, and a reached limit is proposed doubled as far as a run may have it", () => {
  const limit = { limit: "maxSteps", value: 25 };
  const failure = { code: "limit_exceeded", message: "", limit };
  assert.equal(failureWords(failure), "It reached its limit of 25 model calls");
  assert.equal(failureWords({ code: "odd_thing", message: "" }), "Odd thing");
  assert.equal(raisedLimit(limit), 50);
  assert.equal(raisedLimit({ limit: "maxSteps", value: 900 }), 1_000);
  assert.equal(raisedLimit({ limit: "maxSteps", value: 1_000 }), null);
  assert.equal(raisedLimit({ limit: "maxToolCalls", value: 0 }), 10);
});

test("a run is named by its agent, its first words and its time, a tool by its server", () => {
  const now = new Date("2026-03-02T12:00:00");
  assert.equal(clockText("2026-03-02T09:05:00", now), "09:05");
  assert.equal(clockText("2026-03-01T09:05:00", now), "1 Mar 09:05");
  const run = { agent: "reader", createdAt: new Date().toISOString(), input: "Look around\nnow" };
  assert.match(runText(run), /^reader · Look around · \d\d:\d\d$/);
  assert.match(runText({ ...run, input: { a: 1 } }), /^reader · /);
  assert.equal(toolText("mcp__my_files__read"), "my_files › read");
  assert.equal(toolText("write_file"), "write_file");
});

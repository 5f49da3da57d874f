import assert from "node:assert/strict";
import { test } from "node:test";
import {
  modelResponded,
  runCancelled,
  runStarted,
  runWaiting,
  runWoken,
  toolCompleted,
  toolDenied,
  toolFailed,
  toolRequested,
} from "@switchyard/contracts/agent-runner/run-events";
import { storedEvent } from "../test-fixtures/stored-event.ts";
import { runSpans, spanLines } from "./run-spans.ts";

const START = Date.parse("2026-01-02T03:04:05.000Z");
const at = (ms: number): { at: string } => ({ at: new Date(START + ms).toISOString() });
const answer = { model: "anthropic/m", durationMs: 400 };
const asked = (index: number, tool: string) => ({ callId: `r:1:${index}`, tool });

const EVENTS = [
  storedEvent(runStarted, at(0)),
  storedEvent(modelResponded, { ...answer, ...at(500), step: 1, toolCalls: 3, costUsd: 0.5 }),
  storedEvent(toolRequested, { ...asked(0, "read_file"), ...at(500) }),
  storedEvent(toolRequested, { ...asked(1, "write_file"), ...at(500) }),
  storedEvent(toolRequested, { ...asked(2, "execute_command"), ...at(500) }),
  storedEvent(toolCompleted, { ...asked(0, "read_file"), ...at(620), durationMs: 90 }),
  storedEvent(toolFailed, { ...asked(2, "execute_command"), ...at(700) }),
  storedEvent(runWaiting, {
    ...at(1_000),
    waits: [
      { reason: "approval", callId: "r:1:1", tool: "write_file", until: null, approvalId: "a1" },
    ],
  }),
];

test("shows how long each step, call and wait took", () => {
  const decision = { effect: "deny", rule: null, reason: "denied by sam" };
  const spans = runSpans([
    ...EVENTS,
    storedEvent(runWoken, at(61_000)),
    storedEvent(toolDenied, { ...asked(1, "write_file"), ...at(61_500), decision }),
  ]);
  const rows = spans.map(({ kind, offsetMs, durationMs, outcome }) => [
    kind,
    offsetMs,
    durationMs,
    outcome,
  ]);
  assert.deepEqual(rows, [
    ["step", 100, 400, "done"],
    ["call", 500, 120, "done"],
    ["call", 500, 61_000, "denied"],
    ["call", 500, 200, "failed"],
    ["wait", 1_000, 60_000, "done"],
  ]);
  const [title, step, read, ...more] = spanLines(spans);
  assert.match(title ?? "", /AT +TOOK +WHAT/);
  assert.match(
    step ?? "",
    /\+100 ms +400 ms +step 1 +anthropic\/m asks for 3 tool calls, \$0\.500$/,
  );
  assert.match(read ?? "", /\+500 ms +120 ms +call 1 +read_file, 90 ms of it at its provider$/);
  assert.match(more.join("\n"), /1 min 00 s +wait +for an approval of write_file \(a1\)$/);
});

test("what has not ended is open, and the end of the run ends its wait", () => {
  const open = runSpans(EVENTS).filter(({ outcome }) => outcome === "open");
  assert.deepEqual(
    open.map(({ kind, durationMs }) => [kind, durationMs]),
    [
      ["call", null],
      ["wait", null],
    ],
  );
  assert.match(spanLines(open)[1] ?? "", /open +call 1 +write_file$/);
  const wait = runSpans([...EVENTS, storedEvent(runCancelled, at(3_000))]).find(
    ({ kind }) => kind === "wait",
  );
  assert.deepEqual([wait?.durationMs, wait?.outcome], [2_000, "done"]);
});

test("a run whose first events have expired is shown from the first that is stored", () => {
  const [span] = runSpans([storedEvent(toolRequested, at(5_000))]);
  assert.equal(span?.offsetMs, 0);
});

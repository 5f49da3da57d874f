import assert from "node:assert/strict";
import { test } from "node:test";
import type { CallState } from "./run-state.ts";
import type { Wait } from "./journal-entry.ts";
import { cancelledCall } from "./cancelled-call.ts";

const until = "2026-01-01T00:10:00.000Z";
const question: Wait & { reason: "question" } = {
  reason: "question",
  question: "again?",
  options: [],
  until,
};
const approval = { reason: "approval", approvalId: "a1", until } as const;

test("a cancelled call is reported as one that may have had its effect exactly when it may", () => {
  const reported: [Partial<CallState>, RegExp][] = [
    [{}, /this call was not sent$/],
    [{ dispatched: true }, /was in flight; it may have had its effect$/],
    [{ dispatched: true, wait: approval }, /waited for an approval and was not sent$/],
    [{ dispatched: true, wait: { ...approval, again: true } }, /it may have had its effect/],
    [{ dispatched: true, wait: { ...question, about: "outcome" } }, /it may have had its effect/],
    [{ wait: question }, /waited for an answer$/],
    [{ wait: { reason: "child", childRunId: "run-2", until: null } }, /run-2, which is cancelled/],
    [{ wait: { reason: "timer", until } }, /waited for its time$/],
  ];
  for (const [known, text] of reported) {
    const result = cancelledCall(openCall(known));
    assert.equal(result.kind === "tool-failed" && result.code, "cancelled");
    assert.match(result.kind === "tool-failed" ? result.message : "", text);
  }
});

function openCall(known: Partial<CallState>): CallState {
  const callId = "r1:1:0";
  return {
    part: { type: "tool-call", callId, toolCallId: callId, tool: "write", input: {} },
    step: 1,
    dispatched: false,
    wait: null,
    resolution: null,
    result: null,
    ...known,
  };
}

import assert from "node:assert/strict";
import { test } from "node:test";
import { checkOutcomes } from "./check-outcomes.ts";
import type { Absence, JournalFact, RunEvidence } from "./evidence.ts";

const NOTHING = { rejections: [], absences: [] };
const started: JournalFact = { kind: "started", at: 1_000, timeoutMs: 3_000 };

function runOf(...facts: readonly JournalFact[]): RunEvidence {
  return { runId: "r1", status: "", journal: [started, ...facts], events: [] };
}

function rulesOf(...facts: readonly JournalFact[]): string[] {
  return checkOutcomes({ ...NOTHING, runs: [runOf(...facts)] }).map(({ rule }) => rule);
}

/** Absences of so many runners, one after the other, from so many seconds on. */
function deaths(count: number, fromMs: number): Absence[] {
  return Array.from({ length: count }, (_, index) => {
    const from = fromMs + index * 1_000;
    return { part: `runner-${index}`, from, to: from + 500 };
  });
}

test("finds nothing in a run that succeeded, was cancelled or came to its limit", () => {
  assert.deepEqual(rulesOf({ kind: "finished", at: 3_900 }), []);
  assert.deepEqual(rulesOf({ kind: "cancelled", at: 9_000 }), []);
  assert.deepEqual(rulesOf({ kind: "failed", at: 4_000, code: "limit_exceeded" }), []);
});

test("finds a run that failed of anything else", () => {
  assert.deepEqual(rulesOf({ kind: "failed", at: 2_000, code: "policy_unavailable" }), ["spoiled"]);
});

test("finds a run that is dead although fewer runners were away than that needs", () => {
  const dead: JournalFact = { kind: "dead", at: 20_000, code: "too_many_attempts" };
  const found = (absences: readonly Absence[]) =>
    checkOutcomes({ ...NOTHING, runs: [runOf(dead)], absences }).map(({ rule }) => rule);
  assert.deepEqual(found([]), ["died-of-nothing"]);
  assert.deepEqual(found(deaths(4, 2_000)), ["died-of-nothing"]);
  assert.deepEqual(found(deaths(5, 2_000)), []);
  assert.deepEqual(found(deaths(5, 30_000)), ["died-of-nothing"], "they died when it was over");
  const others = deaths(5, 2_000).map(({ from, to }) => ({ part: "policy-1", from, to }));
  assert.deepEqual(found(others), ["died-of-nothing"], "no runner was away");
});

test("finds a command that was refused, and one that was said to be deadly", () => {
  const rulesFor = (code: string, absences: readonly Absence[]) => {
    const rejections = [{ runId: "r2", code, message: "no" }];
    return checkOutcomes({ runs: [], rejections, absences }).map(({ rule }) => rule);
  };
  assert.deepEqual(rulesFor("unknown_agent", []), ["rejected"]);
  assert.deepEqual(rulesFor("too_many_attempts", []), ["died-of-nothing"]);
  assert.deepEqual(rulesFor("too_many_attempts", deaths(5, 0)), ["rejected"]);
});

test("finds a run that finished after its time, unless it waited", () => {
  assert.deepEqual(rulesOf({ kind: "finished", at: 4_010 }), ["limit-missed"]);
  assert.deepEqual(rulesOf({ kind: "waiting", at: 1_500 }, { kind: "finished", at: 9_000 }), []);
});

test("finds a run that finished although its time was over within a call", () => {
  const cut = { kind: "tool-failed", at: 3_950, callId: "r1:1:0", code: "tool_timeout" };
  assert.deepEqual(rulesOf(cut, { kind: "finished", at: 3_980 }), ["limit-missed"]);
  assert.deepEqual(rulesOf(cut, { kind: "failed", at: 4_000, code: "limit_exceeded" }), []);
});

test("finds a call that failed of what is not so", () => {
  const failed = { kind: "tool-failed", at: 2_000, callId: "r1:1:0" };
  const finished: JournalFact = { kind: "finished", at: 2_100 };
  assert.deepEqual(rulesOf({ ...failed, code: "unknown_tool" }, finished), ["wrong-reason"]);
  assert.deepEqual(rulesOf({ ...failed, code: "policy_unavailable" }, finished), ["wrong-reason"]);
  assert.deepEqual(rulesOf({ ...failed, code: "outcome_unknown" }, finished), []);
});

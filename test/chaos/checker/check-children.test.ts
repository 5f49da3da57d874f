import assert from "node:assert/strict";
import { test } from "node:test";
import { checkChildren } from "./check-children.ts";
import { checkEvidence } from "./check-evidence.ts";
import type { JournalFact, Permit, RunEvidence } from "./evidence.ts";

const reported: JournalFact = {
  kind: "child-ended",
  at: 3,
  childRunId: "sub",
  status: "succeeded",
};
const journal: readonly JournalFact[] = [
  { kind: "started", at: 0 },
  { kind: "child-started", at: 1, callId: "boss:1:0", childRunId: "sub" },
  reported,
  { kind: "finished", at: 4 },
];
const boss: RunEvidence = { runId: "boss", status: "succeeded", journal, events: [] };
const sub: RunEvidence = { runId: "sub", status: "succeeded", journal: [], events: [] };
const permit: Permit = {
  runId: "boss",
  tool: "agent",
  argsDigest: "",
  effect: "allow",
  isForAnyArguments: false,
};

function rulesOf({ facts = journal, runs = [boss, sub], permits = [permit] } = {}): string[] {
  return checkChildren({ ...boss, journal: facts }, { runs, permits }).map(({ rule }) => rule);
}

test("finds nothing where a child was allowed and its end delivered once", () => {
  assert.deepEqual(rulesOf(), []);
  const cancelled = journal.toSpliced(2, 2, { kind: "cancelled", at: 4 });
  assert.deepEqual(rulesOf({ facts: cancelled }), [], "a cancelled parent need not receive it");
});

test("finds a child that was not allowed", () => {
  assert.deepEqual(rulesOf({ permits: [{ ...permit, runId: "other" }] }), ["unpermitted-call"]);
});

test("finds an end that was delivered twice, otherwise or never", () => {
  assert.deepEqual(rulesOf({ facts: journal.toSpliced(2, 0, reported) }), ["child"]);
  assert.deepEqual(rulesOf({ facts: journal.with(2, { ...reported, status: "failed" }) }), [
    "child",
  ]);
  assert.deepEqual(rulesOf({ facts: journal.toSpliced(2, 1) }), ["child"]);
});

test("finds an end of an unknown child, in a whole round, too", () => {
  assert.deepEqual(rulesOf({ runs: [boss] }), ["child"]);
  const nothing = { accepted: [], effects: [], approvals: [], queued: [] };
  const more = { rejections: [], sessions: [], messages: [], jobs: [], absences: [] };
  const rest = { ...more, leftOver: [], crashes: [], refusals: [] };
  const found = checkEvidence({ ...nothing, ...rest, runs: [boss], permits: [permit] });
  assert.ok(found.some(({ rule }) => rule === "child"));
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { checkSessions } from "./check-sessions.ts";
import type { RunEvidence, SessionEvidence } from "./evidence.ts";

function runOf(runId: string, from: number, to: number): RunEvidence {
  const journal = [
    { kind: "started", at: from, sessionId: "ses-1" },
    { kind: "finished", at: to },
  ];
  return { runId, status: "succeeded", journal, events: [] };
}

const runs = [runOf("a", 10, 20), runOf("b", 20, 30), runOf("c", 35, 40)];
const session: SessionEvidence = {
  sessionId: "ses-1",
  active: null,
  queue: [],
  said: ["a", "b", "c"],
  events: [
    { name: "created", seq: 1, runId: null },
    { name: "message-queued", seq: 2, runId: "b" },
    { name: "message-queued", seq: 3, runId: "c" },
    { name: "message-added", seq: 4, runId: "a" },
  ],
};

function rulesOf(changes: Partial<SessionEvidence>, ofRuns: readonly RunEvidence[] = runs) {
  const sessions = [{ ...session, ...changes }];
  return checkSessions({ sessions, runs: ofRuns }).map(({ rule }) => rule);
}

test("finds nothing in a session whose runs worked one after the other", () => {
  assert.deepEqual(rulesOf({}), []);
});

test("finds a session that is still held, and messages that still wait", () => {
  assert.deepEqual(rulesOf({ active: "c" }), ["session-blocked"]);
  assert.deepEqual(rulesOf({ queue: ["d"] }), ["session-blocked"]);
});

test("finds two runs at work at once", () => {
  assert.deepEqual(rulesOf({}, [runOf("a", 10, 21), ...runs.slice(1)]), ["session-order"]);
});

test("finds messages that had their turn in another order than the queue's", () => {
  const swapped = [runOf("a", 10, 20), runOf("c", 20, 30), runOf("b", 35, 40)];
  assert.deepEqual(rulesOf({}, swapped), ["session-order"]);
});

test("finds a message that is not in the history, or twice", () => {
  assert.deepEqual(rulesOf({ said: ["a", "c"] }), ["session-history"]);
  assert.deepEqual(rulesOf({ said: ["a", "b", "b", "c"] }), ["session-history"]);
});

test("finds a gap in the events and another order, and lets one come twice", () => {
  const { events } = session;
  assert.deepEqual(rulesOf({ events: events.toSpliced(0, 1) }), ["session-events"]);
  assert.deepEqual(rulesOf({ events: events.toSpliced(3, 1).toReversed() }), [
    "session-order",
    "session-events",
  ]);
  assert.deepEqual(rulesOf({ events: events.flatMap((event) => [event, event]) }), []);
});

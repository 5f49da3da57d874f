import assert from "node:assert/strict";
import type { Event } from "@switchyard/contracts/define";
import type { JournalEntry } from "../src/core/journal-entry.ts";
import { eventsOf } from "../src/core/run-events.ts";

const ENDS: ReadonlySet<JournalEntry["kind"]> = new Set([
  "finished",
  "failed",
  "cancelled",
  "dead",
]);
const RESULTS: ReadonlySet<JournalEntry["kind"]> = new Set([
  "tool-completed",
  "tool-denied",
  "tool-failed",
]);

/**
 * Proves the runner's guarantees from the journal of a run that has ended. It reads the entries itself and not with the runner's
 * own replay: one end for each life, one answer for each step, one result for each requested call and none for others, no result
 * of a server's tool without an allow, events without a gap.
 */
export function checkJournal(entries: readonly JournalEntry[]): void {
  const [first] = entries;
  assert.equal(first?.kind, "started");
  const lives = 1 + entries.filter(({ kind }) => kind === "retried").length;
  const ends = entries.filter(({ kind }) => ENDS.has(kind));
  assert.equal(ends.length, lives, "each life of a run has one end");
  const last = entries.at(-1);
  assert.ok(last !== undefined && ENDS.has(last.kind), "nothing follows the end");

  const steps = entries.flatMap((entry) => (entry.kind === "model-responded" ? [entry.step] : []));
  if (lives === 1) assert.equal(new Set(steps).size, steps.length, "a step is answered once");

  const asked = new Map<string, number>();
  for (const entry of entries) {
    if (entry.kind === "skill-dispatched") asked.set(entry.callId, 0);
    if (entry.kind === "model-responded") {
      for (const part of entry.content) if (part.type === "tool-call") asked.set(part.callId, 0);
    }
    if (!RESULTS.has(entry.kind) || !("callId" in entry)) continue;
    const before = asked.get(entry.callId);
    assert.equal(before, 0, `call ${entry.callId} was requested and has no result yet`);
    asked.set(entry.callId, 1);
    if (entry.kind === "tool-completed" && entry.decision !== null)
      assert.equal(entry.decision.effect, "allow", entry.callId);
  }
  if (last.kind !== "failed" && last.kind !== "dead")
    for (const [callId, results] of asked) assert.equal(results, 1, `call ${callId} has a result`);

  const events = eventsOf(entries);
  assert.deepEqual(
    events.map(({ seq }) => seq),
    events.map((_, index) => index + 1),
  );
  for (const { contract, payload } of events) assertFits(contract, payload);
}

/** Runners do not validate their own events: each must match its contract, and have no other fields. */
export function assertFits(contract: Event, payload: unknown): void {
  const json: unknown = JSON.parse(JSON.stringify(payload));
  assert.deepEqual(contract.payload.parse(json), json, contract.name);
}

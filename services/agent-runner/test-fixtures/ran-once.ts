import assert from "node:assert/strict";
import type { Redis } from "@switchyard/service/redis";
import { replay } from "../src/core/replay.ts";
import { openRunStore } from "../src/journal/run-store.ts";
import { checkJournal } from "./journal-checker.ts";
import { sequenceOf, type Lab } from "./runner-lab.ts";

/** A run that succeeded although `crashes` runners died of it: every call executed once, every event stored once and in order. */
export async function assertRanOnce(
  { lab, redis }: { readonly lab: Lab; readonly redis: Redis },
  run: {
    readonly runId: string;
    readonly crashes: number;
    readonly output: string;
    /** Step and index of each call. */
    readonly calls: readonly string[];
  },
): Promise<void> {
  const { runId, crashes, output, calls } = run;
  const entries = await openRunStore(redis, { holdMs: 0 }).load(runId);
  checkJournal(entries);
  const { end, events: count } = replay(entries);
  assert.deepEqual(end, { status: "succeeded", output });
  for (const position of calls) {
    const callId = `${runId}:${position}`;
    assert.equal(lab.services.executed.get(callId), 1, callId);
    assert.ok((lab.services.requested.get(callId) ?? 0) <= 1 + crashes, callId);
  }
  const events = await lab.eventsUntil(runId, "finished");
  // Events before the run began, such as `delayed`, have no number.
  const numbers = sequenceOf(events);
  assert.deepEqual(
    numbers,
    numbers.map((_, index) => index + 1),
  );
  assert.equal(numbers.length, count);
}

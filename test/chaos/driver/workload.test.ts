import assert from "node:assert/strict";
import { test } from "node:test";
import { drawRuns } from "./workload.ts";

const options = { seed: 11, runs: 30, sessions: 8, durationMs: 20_000 };

test("draws the same runs from the same seed, and others from another one", () => {
  assert.deepEqual(drawRuns(options), drawRuns(options));
  assert.notDeepEqual(drawRuns(options), drawRuns({ ...options, seed: 12 }));
});

test("gives each session several messages, in the order in which they are said", () => {
  const said = drawRuns(options).filter(({ session }) => session !== null);
  const sessions = Map.groupBy(said, ({ session }) => session);
  assert.equal(sessions.size, options.sessions);
  for (const messages of sessions.values()) {
    const times = messages.map(({ atMs }) => atMs);
    assert.ok(messages.length >= 3);
    assert.deepEqual(
      times,
      times.toSorted((one, other) => one - other),
    );
  }
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { endsAtMs } from "./session-parts.ts";

test("a session that was spawned for a task ends an hour after its last use, others as the settings say [F9]", () => {
  const updatedAt = "2026-01-01T00:00:00.000Z";
  const limits = { maxQueued: 1, maxPerOwner: 1, idleMs: 7_200_000 };
  const endOf = (key: string, idleMs = limits.idleMs) =>
    new Date(endsAtMs({ key, updatedAt }, { ...limits, idleMs })).toISOString().slice(11, 16);
  assert.equal(endOf("agent:a:main"), "02:00");
  assert.equal(endOf("agent:a:subagent:0123456789ab-00"), "01:00");
  assert.equal(endOf("agent:a:subagent:0123456789ab-00", 60_000), "00:01");
});

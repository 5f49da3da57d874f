import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { elapsedMs, leaseTimes } from "./lease-times.ts";

test("a broker stops trusting its lease before another can take it, and after a renewal may fail once", () => {
  fc.assert(
    fc.property(fc.integer({ min: 500, max: 600_000 }), (leaseMs) => {
      const { trustMs, renewMs, tickMs } = leaseTimes(leaseMs);
      // The keeper reads the clock once a tick; the lease has to outlast the latest reading.
      assert.ok(trustMs + tickMs < leaseMs);
      assert.ok(renewMs + 2 * tickMs <= trustMs + 1e-9);
    }),
  );
});

test("counts the time that only one of the clocks saw", () => {
  const since = { monotonicMs: 1_000, wallMs: 50_000 };
  assert.equal(elapsedMs(since, { monotonicMs: 1_200, wallMs: 50_150 }), 200);
  // The machine slept.
  assert.equal(elapsedMs(since, { monotonicMs: 1_010, wallMs: 59_000 }), 9_000);
  // The wall clock was set back.
  assert.equal(elapsedMs(since, { monotonicMs: 1_300, wallMs: 10_000 }), 300);
});

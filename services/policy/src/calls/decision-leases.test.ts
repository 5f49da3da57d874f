import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createDecisionLeases, LONGEST_LEASE_MS } from "./decision-leases.ts";

/** Leases on a clock that advances only in `wait`, or when the test sets it. */
function leasesAt(start: number) {
  const clock = { now: start };
  const leases = createDecisionLeases({
    now: () => clock.now,
    wait: (ms) => {
      clock.now += ms;
      return Promise.resolve();
    },
  });
  return { leases, clock };
}

test("a change waits until the last lease has ended, with a margin for clock rates that differ", async () => {
  const { leases, clock } = leasesAt(0);
  assert.equal(leases.grant(60_000), 500);
  clock.now = 300;
  assert.equal(leases.grant(60_000), 500);
  await leases.withdraw();
  assert.ok(clock.now >= 300 + 500 * 1.1);
  assert.ok(clock.now <= 301 + LONGEST_LEASE_MS);
});

test("a change without leases does not wait", async () => {
  const { leases, clock } = leasesAt(7);
  await leases.withdraw();
  assert.equal(clock.now, 7);
});

test("no lease is granted while rules change, and leases are granted again afterwards", async () => {
  const { leases } = leasesAt(0);
  await leases.withdraw();
  assert.equal(leases.grant(60_000), null);
  leases.resume();
  assert.equal(leases.grant(60_000), 500);
});

test("a lease never outlasts its token", () => {
  const { leases } = leasesAt(0);
  assert.equal(leases.grant(120.9), 120);
  assert.equal(leases.grant(0.5), null);
  assert.equal(leases.grant(-1), null);
});

test("whatever the leases, all have ended after a withdrawal, also for a clock that is 10 % slow", async () => {
  const grants = fc.array(fc.record({ after: fc.nat(2_000), atMost: fc.nat(2_000) }));
  await fc.assert(
    fc.asyncProperty(grants, async (steps) => {
      const { leases, clock } = leasesAt(0);
      const ends: number[] = [];
      for (const { after, atMost } of steps) {
        clock.now += after;
        const forMs = leases.grant(atMost);
        if (forMs !== null) ends.push(clock.now + forMs * 1.1);
      }
      await leases.withdraw();
      assert.ok(ends.every((end) => end <= clock.now));
    }),
  );
});

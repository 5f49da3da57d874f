import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createDecisionLeases, LONGEST_LEASE_MS } from "./decision-leases.ts";

/** Leases on a clock that goes on only while somebody waits, or when the test says so. */
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

test("a change waits until the last decision that was given out is over, with room for clocks that differ", async () => {
  const { leases, clock } = leasesAt(0);
  assert.equal(leases.grant(60_000), 500);
  clock.now = 300;
  assert.equal(leases.grant(60_000), 500);
  await leases.withdraw();
  assert.ok(clock.now >= 300 + 500 * 1.1);
  assert.ok(clock.now <= 301 + LONGEST_LEASE_MS);
});

test("a change with nothing given out does not wait", async () => {
  const { leases, clock } = leasesAt(7);
  await leases.withdraw();
  assert.equal(clock.now, 7);
});

test("nothing is given out while rules change, and again afterwards", async () => {
  const { leases } = leasesAt(0);
  await leases.withdraw();
  assert.equal(leases.grant(60_000), null);
  leases.resume();
  assert.equal(leases.grant(60_000), 500);
});

test("a decision is never kept longer than its token is good", () => {
  const { leases } = leasesAt(0);
  assert.equal(leases.grant(120.9), 120);
  assert.equal(leases.grant(0.5), null);
  assert.equal(leases.grant(-1), null);
});

test("whatever was given out when: after a withdrawal all of it is over, for a clock that is 10 % slow too", async () => {
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

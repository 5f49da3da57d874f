import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { actionFor, RECHECK_MS } from "./due.ts";

const run = { status: "waiting", wakeAt: 0, heldUntil: 0, restsUntil: 0, events: 2, published: 2 };
const NOW = 1_000_000_000_000;

test("forgets a run that is gone or has ended", () => {
  assert.deepEqual(actionFor(null, NOW), { next: "forget" });
  for (const status of ["succeeded", "failed", "cancelled", "dead"]) {
    assert.deepEqual(actionFor({ ...run, status }, NOW), { next: "forget" });
  }
});

test("wakes a run whose time has come, and one that was woken and that no runner took", () => {
  assert.equal(actionFor({ ...run, wakeAt: NOW }, NOW).next, "wake");
  assert.equal(actionFor({ ...run, status: "running" }, NOW).next, "wake");
});

test("wakes a run whose last events were not published, whether it has ended or waits", () => {
  for (const status of ["succeeded", "dead", "waiting"])
    assert.equal(actionFor({ ...run, status, published: 1 }, NOW).next, "wake");
});

test("skips a run that still waits, and one that a runner works on", () => {
  const later = { next: "later", atMs: NOW + RECHECK_MS };
  assert.deepEqual(actionFor(run, NOW), later);
  assert.deepEqual(actionFor({ ...run, wakeAt: NOW + 5 }, NOW), { next: "later", atMs: NOW + 5 });
  const held = actionFor({ ...run, status: "running", heldUntil: NOW + 1 }, NOW);
  assert.deepEqual(held, { next: "later", atMs: NOW + 1 }, "its holder may have died meanwhile");
  const resting = actionFor({ ...run, status: "running", restsUntil: NOW + 2 }, NOW);
  assert.deepEqual(resting, { next: "later", atMs: NOW + 2 }, "its message comes again by itself");
});

test("soon rechecks every run that has not ended", () => {
  const facts = fc.record({
    status: fc.constantFrom("waiting", "running"),
    wakeAt: fc.oneof(fc.constant(0), fc.integer({ min: NOW - 1e6, max: NOW + 1e9 })),
    heldUntil: fc.integer({ min: NOW - 1e6, max: NOW + 1e6 }),
    restsUntil: fc.integer({ min: NOW - 1e6, max: NOW + 1e6 }),
    events: fc.nat(3),
    published: fc.nat(3),
  });
  fc.assert(
    fc.property(facts, (drawn) => {
      const look = actionFor(drawn, NOW);
      assert.ok(look.next !== "forget");
      assert.ok(look.atMs > NOW && look.atMs <= NOW + RECHECK_MS);
    }),
  );
});

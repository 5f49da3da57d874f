import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { nextReconnect } from "./reconnect-policy.ts";

const MIDDLE = 0.5;

test("tries again after 1 s, doubling, and is in error after the configured number of tries [A21, AR5, X11]", () => {
  const steps = [0, 1, 2, 3, 4].map((reconnectsTried) =>
    nextReconnect({ reconnectsTried, maxReconnectAttempts: 3, permanent: false }, MIDDLE),
  );
  assert.deepEqual(steps, [
    { status: "disconnected", delayMs: 1_000 },
    { status: "disconnected", delayMs: 2_000 },
    { status: "disconnected", delayMs: 4_000 },
    { status: "error", delayMs: 30_000 },
    { status: "error", delayMs: 30_000 },
  ]);
});

test("a failure that no attempt can fix is an error at once, and still probed", () => {
  const next = nextReconnect(
    { reconnectsTried: 0, maxReconnectAttempts: 3, permanent: true },
    MIDDLE,
  );
  assert.deepEqual(next, { status: "error", delayMs: 30_000 });
});

test("never waits less than 0.8 s nor more than 30 s, and spreads the tries of many servers", () => {
  fc.assert(
    fc.property(
      fc.nat(10_000),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      (reconnectsTried, random) => {
        const { delayMs } = nextReconnect(
          { reconnectsTried, maxReconnectAttempts: 1_000_000, permanent: false },
          random,
        );
        assert.ok(delayMs >= 800 && delayMs <= 30_000, String(delayMs));
      },
    ),
  );
  const outage = { reconnectsTried: 0, maxReconnectAttempts: 3, permanent: false };
  assert.equal(nextReconnect(outage, 0).delayMs, 800);
  assert.equal(nextReconnect(outage, 0.999).delayMs, 1_200);
});

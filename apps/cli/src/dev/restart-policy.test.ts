import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { nextRestart } from "./restart-policy.ts";

test("doubles the wait for a process that keeps dying, up to half a minute", () => {
  const delays: number[] = [];
  let state = { failures: 0, startedAtMs: 0 };
  for (let attempt = 0; attempt < 9; attempt += 1) {
    const { delayMs, failures } = nextRestart(state, state.startedAtMs + 1);
    delays.push(delayMs);
    state = { failures, startedAtMs: state.startedAtMs + 1 };
  }
  assert.deepEqual(delays, [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
});

test("a process that ran for half a minute starts again at once", () => {
  assert.deepEqual(nextRestart({ failures: 7, startedAtMs: 0 }, 30_000), {
    failures: 1,
    delayMs: 500,
  });
});

test("the wait is never zero and never longer than half a minute", () => {
  fc.assert(
    fc.property(fc.nat(2_000), fc.nat(), fc.nat(), (failures, startedAtMs, ranMs) => {
      const { delayMs } = nextRestart({ failures, startedAtMs }, startedAtMs + ranMs);
      assert.ok(delayMs >= 500 && delayMs <= 30_000);
    }),
  );
});

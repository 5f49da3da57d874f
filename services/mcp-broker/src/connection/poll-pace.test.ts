import assert from "node:assert/strict";
import { test } from "node:test";
import { createPollPace } from "./poll-pace.ts";

test("a stream that ends at once, again and again, is opened ever more rarely", () => {
  let now = 0;
  const pace = createPollPace(() => now);
  const delays = Array.from({ length: 12 }, () => {
    pace.opened();
    const delay = pace.delayMs(0, { isAwaited: false });
    now += delay;
    return delay;
  });
  assert.deepEqual(delays.slice(0, 4), [100, 200, 400, 800]);
  assert.equal(delays.at(-1), 60_000);
  pace.opened();
  assert.equal(pace.delayMs(0, { isAwaited: true }), 5_000);
});

test("an event, and a stream that lasts, bring back the delay that the server wants", () => {
  let now = 0;
  const pace = createPollPace(() => now);
  const next = (): number => pace.delayMs(1_000, { isAwaited: false });
  pace.opened();
  assert.deepEqual([next(), next(), next()], [1_000, 2_000, 4_000]);
  pace.received();
  assert.deepEqual([next(), next()], [1_000, 2_000]);
  pace.opened();
  now += 40_000;
  assert.equal(next(), 1_000);
});

test("no delay is shorter than the server wants, nor longer than a timer can be", () => {
  const pace = createPollPace(() => 0);
  assert.equal(pace.delayMs(120_000, { isAwaited: true }), 120_000);
  assert.equal(pace.delayMs(1e12, { isAwaited: false }), 2 ** 31 - 1);
});

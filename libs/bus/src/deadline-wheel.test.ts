import assert from "node:assert/strict";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { DeadlineWheel } from "./deadline-wheel.ts";

const TICK_MS = 20;

test("an entry never expires early, and at most one tick late", () => {
  const delay = fc.integer({ min: 0, max: 5_000 });
  const step = fc.integer({ min: 1, max: TICK_MS });
  fc.assert(
    fc.property(
      fc.array(delay, { minLength: 1, maxLength: 30 }),
      fc.array(step, { minLength: 1 }),
      (delays, steps) => {
        let now = 12_345.6;
        const wheel = new DeadlineWheel(() => now);
        const expiredAt = new Map<number, number>();
        const startedAt = now;
        for (const [index, delayMs] of delays.entries())
          wheel.add({ expire: () => expiredAt.set(index, now) }, delayMs);
        for (let turn = 0; expiredAt.size < delays.length && turn < 20_000; turn += 1) {
          now += steps[turn % steps.length] ?? 1;
          wheel.advance();
        }
        wheel.stop();
        for (const [index, delayMs] of delays.entries()) {
          const waited = (expiredAt.get(index) ?? Infinity) - startedAt;
          assert.ok(waited >= delayMs, `${delayMs} ms expired after ${waited} ms`);
          assert.ok(waited <= delayMs + 2 * TICK_MS, `${delayMs} ms expired after ${waited} ms`);
        }
      },
    ),
  );
});

test("a clock that jumps over many ticks ends everything that is due, and only that", () => {
  let now = 0;
  const wheel = new DeadlineWheel(() => now);
  const expired: string[] = [];
  wheel.add({ expire: () => expired.push("due") }, 100);
  wheel.add({ expire: () => expired.push("later") }, 100_000);
  now = 50_000;
  wheel.advance();
  assert.deepEqual(expired, ["due"]);
  now = 100_020;
  wheel.advance();
  assert.deepEqual(expired, ["due", "later"]);
});

test("an entry that was taken off does not expire", () => {
  let now = 0;
  const wheel = new DeadlineWheel(() => now);
  const entry = { expire: () => assert.fail("expired") };
  wheel.add(entry, 50).delete(entry);
  now = 1_000;
  wheel.advance();
});

test("an entry may add another one while it expires", () => {
  let now = 0;
  const wheel = new DeadlineWheel(() => now);
  let ended = false;
  wheel.add({ expire: () => wheel.add({ expire: () => (ended = true) }, 0) }, 20);
  for (now = 0; now <= 100; now += TICK_MS) wheel.advance();
  assert.ok(ended);
  wheel.stop();
});

test("deadlines that are far away keep no memory once their calls are over", () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void; // what the flag put there
  const used = () => {
    collect();
    return process.memoryUsage().heapUsed;
  };
  const wheel = new DeadlineWheel(() => 0);
  const entry = { expire: () => assert.fail("expired") };
  const before = used();
  for (let n = 1; n <= 200_000; n += 1) wheel.add(entry, n * 3 * TICK_MS).delete(entry);
  const kept = used() - before;
  wheel.advance();
  assert.ok(kept < 4_000_000, `${kept} bytes are still in use`);
});

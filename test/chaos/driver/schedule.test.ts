import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { drawSchedule, type ScheduleOptions } from "./schedule.ts";

const options = fc.record<ScheduleOptions>({
  seed: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
  durationMs: fc.integer({ min: 0, max: 120_000 }),
  everyMs: fc.integer({ min: 100, max: 5_000 }),
  services: fc.constant(["runner-1", "runner-2", "broker-1", "policy"]),
  servers: fc.constant(["nats", "redis"]),
});

test("draws the same faults from the same seed", () => {
  fc.assert(
    fc.property(options, (given) => {
      assert.deepEqual(drawSchedule(given), drawSchedule(given));
    }),
  );
});

test("draws other faults from another seed", () => {
  const given = { durationMs: 60_000, everyMs: 500, services: ["a", "b"], servers: ["c"] };
  assert.notDeepEqual(drawSchedule({ ...given, seed: 1 }), drawSchedule({ ...given, seed: 2 }));
});

test("ends every fault within the time, and gives no part two at once", () => {
  fc.assert(
    fc.property(options, (given) => {
      const until = new Map<string, number>();
      for (const { atMs, lastsMs, part } of drawSchedule(given)) {
        assert.ok(lastsMs >= 0 && atMs + lastsMs <= given.durationMs);
        assert.ok(atMs >= (until.get(part) ?? 0), part);
        until.set(part, atMs + lastsMs);
      }
    }),
  );
});

test("cuts no connection of a server itself", () => {
  fc.assert(
    fc.property(options, (given) => {
      for (const fault of drawSchedule(given))
        if ("route" in fault) assert.ok(given.services.includes(fault.part));
    }),
  );
});

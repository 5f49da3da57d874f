import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { kindOf, possibleDisasters } from "./disasters.ts";
import { drawSchedule, type ScheduleOptions } from "./schedule.ts";

const cast = {
  services: ["runner-1", "runner-2", "broker-1", "policy-1", "policy-2"],
  servers: ["nats", "redis"],
  disks: ["nats", "redis"],
};
const options = fc.record<ScheduleOptions>({
  seed: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
  durationMs: fc.integer({ min: 0, max: 120_000 }),
  everyMs: fc.oneof(fc.constant(0), fc.integer({ min: 100, max: 5_000 })),
  services: fc.constant(cast.services),
  servers: fc.constant(cast.servers),
  disks: fc.constant(cast.disks),
  only: fc.constantFrom([], ["runner"]),
  disasters: fc.array(fc.constantFrom(...possibleDisasters(cast)), { maxLength: 4 }),
});

test("draws the same faults from the same seed", () => {
  fc.assert(
    fc.property(options, (given) => {
      assert.deepEqual(drawSchedule(given), drawSchedule(given));
    }),
  );
});

test("draws other faults from another seed", () => {
  const given = { durationMs: 60_000, everyMs: 500, ...cast, disasters: [], only: [] };
  assert.notDeepEqual(drawSchedule({ ...given, seed: 1 }), drawSchedule({ ...given, seed: 2 }));
});

test("ends every fault within the time, and gives no part two at once", () => {
  fc.assert(
    fc.property(options, (given) => {
      const until = new Map<string, number>();
      for (const { atMs, lastsMs, parts } of drawSchedule(given)) {
        assert.ok(lastsMs >= 0 && atMs + lastsMs <= given.durationMs);
        for (const part of parts) {
          assert.ok(atMs >= (until.get(part) ?? 0), part);
          until.set(part, atMs + lastsMs);
        }
      }
    }),
  );
});

test("hits only the requested parts", () => {
  const given = { seed: 5, durationMs: 60_000, everyMs: 500, ...cast, disasters: [] };
  const parts = drawSchedule({ ...given, only: ["runner"] }).flatMap((fault) => fault.parts);
  assert.ok(parts.length > 10);
  assert.deepEqual([...new Set(parts.map(kindOf))], ["runner"]);
});

test("cuts no connection of a server itself", () => {
  fc.assert(
    fc.property(options, (given) => {
      for (const fault of drawSchedule(given))
        if ("route" in fault) assert.ok(fault.parts.every((part) => cast.services.includes(part)));
    }),
  );
});

test("every requested disaster happens, to all its parts", () => {
  const given = { seed: 3, durationMs: 120_000, everyMs: 0, ...cast, only: [] };
  const hits = possibleDisasters(cast).map((disaster) => {
    const faults = drawSchedule({ ...given, disasters: [disaster] });
    return [disaster, ...faults.map(({ kind, parts }) => `${kind} ${parts.length}`)].join(" ");
  });
  assert.deepEqual(hits, [
    "outage-runner kill 2",
    "outage-broker kill 1",
    "outage-policy kill 2",
    "outage-nats kill 1",
    "outage-redis kill 1",
    "blackout kill 7",
    "freeze-runner freeze 1",
    "freeze-broker freeze 1",
    "freeze-policy freeze 1",
    "disk-nats fill-disk 1",
    "disk-redis fill-disk 1",
  ]);
  const [outage] = drawSchedule({ ...given, disasters: ["outage-policy"] });
  assert.deepEqual(outage?.parts.map(kindOf), ["policy", "policy"]);
  assert.ok((outage?.lastsMs ?? 0) > 10_000);
});

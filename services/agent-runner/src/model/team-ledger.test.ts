import assert from "node:assert/strict";
import fc from "fast-check";
import { test } from "node:test";
import { windowOf } from "./team-ledger.ts";

test("names the hour, day and month of a time, and when the next begins", () => {
  const now = Date.parse("2026-12-31T23:30:00.000Z");
  const nextYear = "2027-01-01T00:00:00.000Z";
  assert.deepEqual(windowOf("hour", now), {
    name: "2026-12-31T23",
    endsAt: nextYear,
    endsInMs: 1_800_000,
  });
  assert.equal(windowOf("day", now).name, "2026-12-31");
  assert.equal(windowOf("month", now).name, "2026-12");
  assert.equal(windowOf("month", now).endsAt, nextYear);
});

test("a window ends where another one begins, and its last moment is its own", () => {
  const period = fc.constantFrom("hour" as const, "day" as const, "month" as const);
  const time = fc.integer({ min: 0, max: Date.parse("2100-01-01T00:00:00.000Z") });
  fc.assert(
    fc.property(period, time, (per, now) => {
      const { name, endsAt, endsInMs } = windowOf(per, now);
      const end = Date.parse(endsAt);
      assert.equal(end - now, endsInMs);
      assert.ok(endsInMs > 0);
      assert.equal(windowOf(per, end - 1).name, name);
      assert.notEqual(windowOf(per, end).name, name);
    }),
  );
});

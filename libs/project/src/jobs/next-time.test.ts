import assert from "node:assert/strict";
import { test } from "node:test";
import { missedTimes, nextHeartbeat, nextTime, staggerOf, type Timed } from "./next-time.ts";

const ID = "job-0123456789abcdef";
const at = (text: string): number => Date.parse(text);
const iso = (ms: number): string => new Date(ms).toISOString();

function timed(schedule: Timed["schedule"], createdAtMs = 0): Timed {
  return { id: ID, schedule, createdAtMs };
}

/** The next times of an expression behind a moment. */
function times(schedule: Timed["schedule"], after: string, count: number): string[] {
  const found: string[] = [];
  for (let last = at(after); found.length < count;) {
    last = nextTime(timed(schedule), last);
    found.push(iso(last));
  }
  return found;
}

const nightly = (tz: string, expr = "30 2 * * *") => ({ kind: "cron", expr, tz }) as const;

// Days on which clocks change: the zone, where to begin, and 02:30 of the day behind the change.
const SPRING = [
  ["Europe/Berlin", "2026-03-28T00:00:00Z", "2026-03-30T00:30:00.000Z"],
  ["America/New_York", "2026-03-07T00:00:00Z", "2026-03-09T06:30:00.000Z"],
  ["America/Santiago", "2026-09-05T00:00:00Z", "2026-09-07T05:30:00.000Z"],
  ["Australia/Sydney", "2026-10-02T17:00:00Z", "2026-10-05T15:30:00.000Z"],
  ["Asia/Kolkata", "2026-03-28T00:00:00Z", "2026-03-30T21:00:00.000Z"],
] as const;

for (const [tz, after, expected] of SPRING)
  test(`a nightly job in ${tz} keeps its one run a night when clocks go forward [F25]`, () => {
    const found = times(nightly(tz), after, 3);
    const nights = new Set(
      found.map((time) =>
        new Intl.DateTimeFormat("en-CA", { timeZone: tz }).format(new Date(time)),
      ),
    );
    assert.equal(nights.size, 3, found.join(" "));
    assert.equal(found[2], expected, found.join(" "));
  });

for (const [tz, after] of [
  ["Europe/Berlin", "2026-10-24T00:00:00Z"],
  ["America/New_York", "2026-10-31T00:00:00Z"],
  ["America/Santiago", "2026-04-04T00:00:00Z"],
  ["Australia/Sydney", "2026-04-03T00:00:00Z"],
  ["Asia/Kolkata", "2026-10-24T00:00:00Z"],
] as const)
  test(`a nightly job in ${tz} runs once a night when clocks go back [F25]`, () => {
    const found = times(nightly(tz), after, 4);
    const nights = found.map((time) =>
      new Intl.DateTimeFormat("en-CA", { timeZone: tz }).format(new Date(time)),
    );
    assert.equal(new Set(nights).size, 4, found.join(" "));
  });

test("an hourly job continues through a change of clocks without a gap [F25]", () => {
  const found = times(
    { kind: "cron", expr: "0 * * * *", tz: "Europe/Berlin" },
    "2026-03-28T22:30:00Z",
    5,
  ).map(at);
  const gaps = found.slice(1).map((time, index) => time - (found[index] ?? 0));
  assert.deepEqual(gaps, [3_600_000, 3_600_000, 3_600_000, 3_600_000]);
});

test("an ISO time without a zone is UTC, one with a zone is in that zone [F25]", () => {
  const next = (text: string) => iso(nextTime(timed({ kind: "at", at: text }), 0));
  assert.equal(next("2026-12-01T09:00:00"), "2026-12-01T09:00:00.000Z");
  assert.equal(next("2026-12-01T09:00:00+02:00"), "2026-12-01T07:00:00.000Z");
  assert.equal(next("2026-12-01"), "2026-12-01T00:00:00.000Z");
  for (const text of ["tomorrow", "2027-02-30", "2027-02-29T10:00:00Z", "2026-04-31T10:00"])
    assert.throws(() => next(text), /ISO 8601/, text);
});

test("an interval is counted from its anchor, which is the creation by default", () => {
  const every = { kind: "every", everyMs: 1_000 } as const;
  assert.equal(nextTime(timed(every, 250), 2_000), 2_250);
  assert.equal(nextTime(timed({ ...every, anchorMs: 500 }, 250), 2_500), 3_500);
  assert.equal(nextTime(timed({ ...every, anchorMs: 9_000 }, 250), 2_500), 9_000);
  assert.equal(missedTimes(timed(every), 1_000, 4_900), 3);
});

test("the stagger of a job is constant and below its limit, and differs between jobs", () => {
  const schedule = { kind: "cron", expr: "0 * * * *", staggerMs: 60_000 } as const;
  const [first = "", second = ""] = times(schedule, "2026-01-01T00:00:00Z", 2);
  assert.equal(at(second) - at(first), 3_600_000);
  const offsets = Array.from({ length: 50 }, (_, index) => staggerOf(`job-${index}`, 60_000));
  assert.ok(offsets.every((offset) => offset >= 0 && offset < 60_000));
  assert.ok(new Set(offsets).size > 40);
});

test("a schedule that cannot be read or never comes due is refused with its reason", () => {
  const next = (expr: string, tz = "UTC") => nextTime(timed({ kind: "cron", expr, tz }), 0);
  assert.throws(() => next("61 * * * *"), /cannot be read/);
  assert.throws(() => next("0 0 30 2 *"), /no next time/);
  assert.throws(() => next("0 0 * * *", "Mars/Base"), /Mars\/Base/);
});

test("heartbeats have a fixed interval, with an offset of their own for each owner", () => {
  const first = nextHeartbeat("team-a", 1_000, 10_000);
  assert.ok(first > 10_000 && first <= 11_000);
  assert.equal(nextHeartbeat("team-a", 1_000, first), first + 1_000);
});

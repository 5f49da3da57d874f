import assert from "node:assert/strict";
import { test } from "node:test";
import { nextCronTime } from "./cron-time.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const YEAR_START = Date.parse("2026-01-01T00:00:00Z");
const YEAR_END = Date.parse("2027-01-01T00:00:00Z");

const ZONES = [
  "UTC",
  "Europe/Berlin",
  "Europe/London",
  "America/New_York",
  "America/Santiago",
  "America/St_Johns",
  "Africa/Cairo",
  "Africa/Casablanca",
  "Australia/Lord_Howe",
  "Asia/Kolkata",
] as const;

interface Fields {
  readonly minutes: ReadonlySet<number>;
  readonly hours: ReadonlySet<number>;
}

/** Expressions, and the minutes and hours that they name. */
const EXPRESSIONS: Readonly<Record<string, Fields>> = {
  "0 2,14 * * *": fields([0], [2, 14]),
  "0 0,12 * * *": fields([0], [0, 12]),
  "0,30 1 * * *": fields([0, 30], [1]),
  "15 2 * * *": fields([15], [2]),
  "*/20 1-3 * * *": fields([0, 20, 40], [1, 2, 3]),
  "45 */6 * * *": fields([45], [0, 6, 12, 18]),
  "10-14/2 0-2 * * *": fields([10, 12, 14], [0, 1, 2]),
  "*/15 * * * *": fields(
    [0, 15, 30, 45],
    Array.from({ length: 24 }, (_, hour) => hour),
  ),
};

function fields(minutes: readonly number[], hours: readonly number[]): Fields {
  return { minutes: new Set(minutes), hours: new Set(hours) };
}

/** The wall clock of a zone at each minute, as minutes since 1970. */
function wallsOf(tz: string, from: number, to: number): number[] {
  const format = formatOf(tz);
  const walls: number[] = [];
  for (let at = from; at < to; at += MINUTE_MS) walls.push(wallOf(format, at));
  return walls;
}

function formatOf(timeZone: string): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat("sv-SE", { timeZone, dateStyle: "short", timeStyle: "short" });
}

function wallOf(format: Intl.DateTimeFormat, at: number): number {
  return Date.parse(`${format.format(at).replace(" ", "T")}Z`) / MINUTE_MS;
}

/** The days around each change of clocks in the year, and the first of January: looking at the other days shows the same every day. */
function windowsOf(tz: string): (readonly [number, number])[] {
  const format = formatOf(tz);
  const aheadAt = (at: number) => wallOf(format, at) - at / MINUTE_MS;
  const windows: (readonly [number, number])[] = [[YEAR_START, YEAR_START + DAY_MS]];
  for (let at = YEAR_START; at < YEAR_END; at += DAY_MS)
    if (aheadAt(at) !== aheadAt(at + DAY_MS)) windows.push([at - DAY_MS, at + 2 * DAY_MS]);
  return windows;
}

/** Returns the due times that a person would find who checks the clock every minute and lists the times that are done. */
function watched(from: number, walls: readonly number[], { minutes, hours }: Fields): number[] {
  const fits = (wall: number) => minutes.has(wall % 60) && hours.has(Math.floor(wall / 60) % 24);
  const found: number[] = [];
  let latest = (walls[0] ?? 0) - 1;
  for (const [index, wall] of walls.entries()) {
    const isAgain = wall <= latest;
    let isDue = fits(wall) && (!isAgain || hours.size === 24);
    for (let skipped = latest + 1; skipped < wall; skipped += 1) isDue ||= fits(skipped);
    if (isDue) found.push(from + index * MINUTE_MS);
    latest = Math.max(latest, wall);
  }
  return found;
}

for (const tz of ZONES)
  test(`due times in ${tz} are those that a check of the wall clock every minute finds, at each change of clocks in a year [F25]`, () => {
    for (const [from, to] of windowsOf(tz)) {
      const walls = wallsOf(tz, from, to);
      for (const [expr, wanted] of Object.entries(EXPRESSIONS)) {
        const found: number[] = [];
        let at = nextCronTime(expr, tz, from - 1);
        while (at !== null && at < to) {
          found.push(at);
          at = nextCronTime(expr, tz, at);
        }
        const shown = (times: readonly number[]) =>
          times.map((time) => new Date(time).toISOString());
        assert.deepEqual(shown(found), shown(watched(from, walls, wanted)), expr);
      }
    }
  });

test("days combine as in Vixie cron: either is enough, unless one of them begins with a star", () => {
  const days = (expr: string): number[] => {
    const found: number[] = [];
    let at = nextCronTime(expr, "UTC", YEAR_START - 1);
    while (at !== null && found.length < 4) {
      found.push(new Date(at).getUTCDate());
      at = nextCronTime(expr, "UTC", at);
    }
    return found;
  };
  assert.deepEqual(days("0 0 13 * 5"), [2, 9, 13, 16]);
  assert.deepEqual(days("0 0 */2 * 1"), [5, 19, 9, 23]);
  assert.deepEqual(days("0 0 1-7 * *"), [1, 2, 3, 4]);
  assert.deepEqual(days("0 0 * * 5"), [2, 9, 16, 23]);
});

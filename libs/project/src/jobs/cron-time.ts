import { Cron } from "croner";

const HOUR_MS = 3_600_000;
/** More than the wall clocks of any two zones differ, so at most one change of clocks lies within this time. */
const FAR_MS = 26 * HOUR_MS;

/**
 * Returns the first due time of an expression after `afterMs`, in milliseconds since 1970; null when there is none. Due times are
 * those of the zone's wall clock. A time that a change of clocks skips is due right after the gap. One that occurs twice is due
 * the first time; an expression of every hour follows elapsed time and is due both times. Throws an Error for an invalid
 * expression or zone.
 */
export function nextCronTime(expr: string, tz: string, afterMs: number): number | null {
  const wall = new Cron(expr, {
    // Only the wall's own numbers count here; the zone is applied below.
    timezone: "UTC",
    mode: "5-or-6-parts",
    paused: true,
    domAndDow: mustBothFit(expr),
  });
  const zone = zoneOf(tz);
  const first = firstBehind(wall, afterMs, afterMs + zone.offset(afterMs), (at) => zone.first(at));
  // Times of the second pass are earlier on the wall than the present one.
  const shiftMs = zone.offset(afterMs - FAR_MS) - zone.offset(afterMs + FAR_MS);
  if (!isEveryHour(expr) || shiftMs === 0) return first;
  const from = afterMs + zone.offset(afterMs) - Math.abs(shiftMs);
  const last = firstBehind(wall, afterMs, from, (at) => zone.last(at));
  return first === null || last === null ? (first ?? last) : Math.min(first, last);
}

function firstBehind(
  wall: Cron,
  afterMs: number,
  fromWallMs: number,
  instantOf: (wallMs: number) => number,
): number | null {
  let at = wall.nextRun(new Date(fromWallMs));
  while (at !== null) {
    const instant = instantOf(at.getTime());
    if (instant > afterMs) return instant;
    at = wall.nextRun(at);
  }
  return null;
}

/** Vixie cron's rule: with a day of the month or of the week that begins with `*`, both have to fit; else one of them is enough. */
function mustBothFit(expr: string): boolean {
  const [dayOfWeek = "", , dayOfMonth = ""] = expr.trim().split(/\s+/).toReversed();
  return /^[*?]/.test(dayOfMonth) || /^[*?]/.test(dayOfWeek);
}

function isEveryHour(expr: string): boolean {
  const hours = expr.trim().split(/\s+/).toReversed()[3] ?? "";
  return /^(\*(\/1)?|0-23)$/.test(hours) || /^@hourly$/i.test(expr.trim());
}

/** The wall clock of a zone, as milliseconds that a clock of UTC with the same numbers would have. */
interface Zone {
  /** The offset of its wall clock from UTC, in milliseconds. */
  offset(instantMs: number): number;
  /** The first time at which its clock shows this time; for a skipped time, the end of the gap. */
  first(wallMs: number): number;
  last(wallMs: number): number;
}

const zones = new Map<string, Zone>();
/** Clocks change at a quarter of an hour. */
const QUARTER_MS = 900_000;
const MOST_KNOWN = 1_000;

function zoneOf(tz: string): Zone {
  const made = zones.get(tz);
  if (made !== undefined) return made;
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone: tz,
    hourCycle: "h23",
    era: "short",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });
  const known = new Map<number, number>();
  const offset = (instantMs: number): number => {
    const quarter = Math.floor(instantMs / QUARTER_MS);
    const found = known.get(quarter) ?? offsetAt(quarter * QUARTER_MS);
    if (known.size >= MOST_KNOWN) known.clear();
    known.set(quarter, found);
    return found;
  };
  const offsetAt = (instantMs: number): number => {
    const seconds = Math.floor(instantMs / 1_000) * 1_000;
    const parts = new Map(
      format.formatToParts(seconds).map(({ type, value }) => [type, Number(value)]),
    );
    const part = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type) ?? 0;
    const date = [part("year"), part("month") - 1, part("day")] as const;
    return Date.UTC(...date, part("hour"), part("minute"), part("second")) - seconds;
  };
  const zone: Zone = {
    offset,
    first: (wallMs) => instantsOf(wallMs, offset)[0],
    last: (wallMs) => instantsOf(wallMs, offset)[1],
  };
  zones.set(tz, zone);
  return zone;
}

/** The first and the last time that the wall clock shows a time. */
function instantsOf(
  wallMs: number,
  offset: (instantMs: number) => number,
): readonly [number, number] {
  const [before, behind] = [offset(wallMs - FAR_MS), offset(wallMs + FAR_MS)];
  const found = [wallMs - before, wallMs - behind].filter((at) => at + offset(at) === wallMs);
  const [one, other = one] = found;
  if (one !== undefined && other !== undefined) return [Math.min(one, other), Math.max(one, other)];
  const end = changeBetween(wallMs - FAR_MS, wallMs + FAR_MS, offset);
  return [end, end];
}

/** The first second with the later offset. */
function changeBetween(
  fromMs: number,
  toMs: number,
  offset: (instantMs: number) => number,
): number {
  const before = offset(fromMs);
  let [low, high] = [Math.floor(fromMs / 1_000), Math.ceil(toMs / 1_000)];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (offset(middle * 1_000) === before) low = middle;
    else high = middle;
  }
  return high * 1_000;
}

import { datesOf, daysOf, hoursOf, type At } from "../schema/time-schema.ts";
import { wallClock } from "../values/wall-clock.ts";

/** The times of a condition, with the zone's clock. Times are in milliseconds since the Unix epoch. */
export interface CompiledTimes {
  readonly isWithin: (nowMs: number) => boolean;
  /** The times as shown to people: `mon-fri 08:00-18:00 Europe/Berlin`. */
  readonly wanted: string;
  /** A time as shown to people: `2026-11-27 fri 19:05 Europe/Berlin`. */
  readonly shownAt: (nowMs: number) => string;
}

/** Parses the times of a valid condition once. */
export function compileTimes({ zone, hours, days, dates }: At): CompiledTimes {
  const clock = wallClock(zone);
  const range = hours === undefined ? null : hoursOf(hours);
  const weekdays = days === undefined ? null : new Set(days.flatMap((one) => daysOf(one) ?? []));
  const spans = dates === undefined ? null : dates.flatMap((one) => datesOf(one) ?? []);
  const parts = [dates?.join(", "), days?.join(", "), hours, zone];
  return {
    isWithin(nowMs) {
      const { weekday, date, minuteOfDay } = clock(nowMs);
      if (weekdays !== null && !weekdays.has(weekday)) return false;
      if (spans !== null && !spans.some(({ from, to }) => from <= date && date <= to)) return false;
      if (range === null) return true;
      const isAfter = minuteOfDay >= range.from;
      const isBefore = minuteOfDay < range.to;
      return range.from < range.to ? isAfter && isBefore : isAfter || isBefore;
    },
    wanted: parts.filter((part) => part !== undefined).join(" "),
    shownAt(nowMs) {
      const { weekday, date, minuteOfDay } = clock(nowMs);
      const time = [Math.floor(minuteOfDay / 60), minuteOfDay % 60].map(twoDigits).join(":");
      return `${date} ${weekday} ${time} ${zone}`;
    },
  };
}

function twoDigits(count: number): string {
  return String(count).padStart(2, "0");
}

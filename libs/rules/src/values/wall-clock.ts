export const WEEKDAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"] as const;
export type Weekday = (typeof WEEKDAYS)[number];

/** The time that the clocks of a zone show. */
export interface WallClock {
  readonly weekday: Weekday;
  /** Such as `2026-11-28`. */
  readonly date: string;
  readonly minuteOfDay: number;
}

const MINUTE_MS = 60_000;

/**
 * Returns a function from milliseconds since the Unix epoch to the time in a zone of the IANA database. The last minute is cached, because
 * most decisions follow each other closely. Throws a RangeError for an unknown zone.
 */
export function wallClock(zone: string): (nowMs: number) => WallClock {
  const format = new Intl.DateTimeFormat("en-GB", {
    timeZone: zone,
    weekday: "short",
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
  });
  let last = { minute: Number.NaN, shown: null as WallClock | null };
  return (nowMs) => {
    // Offsets of zones change at whole minutes.
    const minute = Math.floor(nowMs / MINUTE_MS);
    if (last.shown !== null && last.minute === minute) return last.shown;
    const parts = Object.fromEntries(
      format.formatToParts(minute * MINUTE_MS).map(({ type, value }) => [type, value]),
    );
    const shown: WallClock = {
      weekday: weekdayOf(parts["weekday"]),
      date: `${parts["year"]}-${parts["month"]}-${parts["day"]}`,
      minuteOfDay: Number(parts["hour"]) * 60 + Number(parts["minute"]),
    };
    last = { minute, shown };
    return shown;
  };
}

export function isTimeZone(zone: string): boolean {
  try {
    return new Intl.DateTimeFormat("en-GB", { timeZone: zone }).format(0) !== "";
  } catch {
    return false;
  }
}

function weekdayOf(short: string | undefined): Weekday {
  const found = WEEKDAYS.find((day) => day === short?.toLowerCase());
  if (found === undefined) throw new TypeError(`no weekday: ${short}`);
  return found;
}

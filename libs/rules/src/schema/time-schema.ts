import { z } from "zod";
import { isTimeZone, WEEKDAYS, type Weekday } from "../values/wall-clock.ts";
import { isSound, listOf, objectError } from "./selector-schema.ts";

const HOURS = /^([01]\d|2[0-3]):([0-5]\d)-(?:([01]\d|2[0-3]):([0-5]\d)|24:00)$/;

const Hours = z
  .string({ error: "must be a text such as 08:00-18:00" })
  .regex(HOURS, "must be two times of a day with two digits each, such as 08:00-18:00")
  .refine((text) => hoursOf(text).from !== hoursOf(text).to, {
    error: "begin and end at one time",
  });

const Days = z
  .string({ error: "must be a weekday such as mon, or several such as mon-fri" })
  .refine((text) => daysOf(text) !== null, {
    error: `must be a weekday of ${WEEKDAYS.join(", ")}, or two with - between them, such as mon-fri`,
  });

const Dates = z
  .string({ error: "must be a text such as 2026-12-24, or 2026-12-24..2027-01-01" })
  .refine((text) => datesOf(text) !== null, {
    error: "must be a date such as 2026-12-24, or two with .. between them, the earlier one first",
  });

/** The times in which a rule holds, as the clocks of a zone show them. All parts that are given have to fit. */
export const At = z
  .strictObject(
    {
      zone: z
        .string({ error: "must be a time zone such as Europe/Berlin" })
        .refine(isTimeZone, { error: "must be a time zone such as Europe/Berlin or UTC" }),
      hours: Hours.optional(),
      days: listOf(Days).optional(),
      dates: listOf(Dates).optional(),
    },
    { error: objectError("must be a mapping with zone, and hours, days or dates") },
  )
  .refine(({ hours, days, dates }) => [hours, days, dates].some((part) => part !== undefined), {
    error: "selects every time; give it hours, days or dates",
    when: isSound,
  });
export type At = z.infer<typeof At>;

/** Minutes of a day. An end before the beginning is on the next day. */
export interface HourRange {
  readonly from: number;
  readonly to: number;
}

/** Reads `08:00-18:00`, which includes its beginning and not its end. */
export function hoursOf(text: string): HourRange {
  const [from = 0, fromMinute = 0, to = 0, toMinute = 0] = text.split(/[:-]/).map(Number);
  return { from: from * 60 + fromMinute, to: to * 60 + toMinute };
}

/** Reads `mon` or `sat-mon`; null for anything else. */
export function daysOf(text: string): readonly Weekday[] | null {
  const [first, last = first, ...others] = text
    .split("-")
    .map((day) => WEEKDAYS.findIndex((one) => one === day));
  if (first === undefined || last === undefined || others.length > 0) return null;
  if (first < 0 || last < 0) return null;
  const count = ((last - first + 7) % 7) + 1;
  return Array.from({ length: count }, (_, n) => WEEKDAYS[(first + n) % 7] ?? "mon");
}

/** Reads a date or two, both included, in the calendar's own order of texts; null for anything else. */
export function datesOf(text: string): { readonly from: string; readonly to: string } | null {
  const [from, to = from, ...others] = text.split("..");
  if (from === undefined || to === undefined || others.length > 0) return null;
  return isDate(from) && isDate(to) && from <= to ? { from, to } : null;
}

function isDate(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const time = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text);
}

import { createHash } from "node:crypto";
import type { JobSource } from "@switchyard/contracts/scheduler/schedules";
import { nextCronTime } from "./cron-time.ts";

/** A schedule with the values that its times are computed from. */
export interface Timed {
  readonly id: string;
  readonly schedule: JobSource;
  readonly createdAtMs: number;
}

/** The shortest interval of a job: once a second, as an expression of six fields can express. */
export const MIN_EVERY_MS = 1_000;
/** More due times than this are not counted one by one. */
const MOST_COUNTED = 10_000;

/**
 * Returns the first due time after `afterMs`; for `at` its only one, even when it has passed. Throws an Error with the reason
 * when there is none.
 */
export function nextTime({ id, schedule, createdAtMs }: Timed, afterMs: number): number {
  switch (schedule.kind) {
    case "at":
      return timeOf(schedule.at ?? "");
    case "every": {
      const { anchorMs = createdAtMs } = schedule;
      const everyMs = distanceOf(schedule);
      if (anchorMs > afterMs) return anchorMs;
      return anchorMs + (Math.floor((afterMs - anchorMs) / everyMs) + 1) * everyMs;
    }
    case "cron": {
      const offset = staggerOf(id, schedule.staggerMs ?? 0);
      const next = nextOfExpression(schedule, afterMs - offset);
      if (next === null)
        throw new Error(`the expression ${JSON.stringify(schedule.expr)} has no next time`);
      return next + offset;
    }
    case "message":
      throw new Error("a job of messages has no due times");
    default:
      return schedule.kind satisfies never;
  }
}

/** Counts the due times behind `dueMs` and not behind `nowMs`, up to 10,000. Throws as {@link nextTime}. */
export function missedTimes(timed: Timed, dueMs: number, nowMs: number): number {
  const { kind } = timed.schedule;
  if (kind === "at") return 0;
  if (kind === "every")
    return Math.max(0, Math.floor((nowMs - dueMs) / distanceOf(timed.schedule)));
  let count = 0;
  for (let at = nextTime(timed, dueMs); at <= nowMs && count < MOST_COUNTED; count += 1)
    at = nextTime(timed, at);
  return count;
}

/** A job of an earlier version may have a shorter distance, and runs at the shortest that there is now. */
function distanceOf({ everyMs }: JobSource): number {
  if (everyMs === undefined) throw new Error("a schedule of kind every needs everyMs");
  return Math.max(MIN_EVERY_MS, everyMs);
}

/** Milliseconds that a job keeps behind its expression, below `staggerMs`: always the same for one id. */
export function staggerOf(id: string, staggerMs: number): number {
  if (staggerMs === 0) return 0;
  return createHash("sha256").update(id).digest().readUInt32BE(0) % staggerMs;
}

/** The next heartbeat behind `nowMs`. Owners have it at different moments. */
export function nextHeartbeat(owner: string, heartbeatMs: number, nowMs: number): number {
  const offset = staggerOf(owner, heartbeatMs);
  return (Math.floor((nowMs - offset) / heartbeatMs) + 1) * heartbeatMs + offset;
}

/** Milliseconds of an ISO time. Throws when it is none. */
function timeOf(text: string): number {
  const [, date = "", zone] =
    /^(\d{4}-\d\d-\d\d)(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)?(Z|[+-]\d\d:?\d\d)?$/i.exec(
      text,
    ) ?? [];
  const hasTime = /[T ]\d\d:/i.test(text);
  const time = Date.parse(zone === undefined && hasTime ? `${text.replace(" ", "T")}Z` : text);
  if (date === "" || Number.isNaN(time) || time < 0 || !isDate(date))
    throw new Error(
      `at must be an ISO 8601 time such as 2026-12-01T09:00:00Z, not ${JSON.stringify(text)}`,
    );
  return time;
}

/** The parser of dates reads 30 February as 2 March. */
function isDate(date: string): boolean {
  const time = Date.parse(`${date}T00:00:00Z`);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(date);
}

function nextOfExpression({ expr = "", tz = "UTC" }: JobSource, afterMs: number): number | null {
  try {
    return nextCronTime(expr, tz, afterMs);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`the expression ${JSON.stringify(expr)} in ${tz} cannot be read: ${reason}`, {
      cause: error,
    });
  }
}

import type { TeamLimit } from "./team-limits-file.ts";

/** The hour, day or month (UTC) of a time: its name, and when the next one begins. */
export function windowOf(
  per: TeamLimit["per"],
  nowMs: number,
): { readonly name: string; readonly endsAt: string; readonly endsInMs: number } {
  const now = new Date(nowMs);
  const [year, month, day, hour] = [
    now.getUTCFullYear(),
    now.getUTCMonth(),
    now.getUTCDate(),
    now.getUTCHours(),
  ];
  const end = {
    hour: Date.UTC(year, month, day, hour + 1),
    day: Date.UTC(year, month, day + 1),
    month: Date.UTC(year, month + 1, 1),
  }[per];
  const length = { hour: 13, day: 10, month: 7 }[per];
  return {
    name: now.toISOString().slice(0, length),
    endsAt: new Date(end).toISOString(),
    endsInMs: end - nowMs,
  };
}

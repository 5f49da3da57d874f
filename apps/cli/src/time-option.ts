import { CliError } from "./cli-error.ts";

const SPAN = /^(\d{1,6})(s|m|h|d)$/;
const SPAN_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** A time like `2026-11-22T10:00:00Z`, or how long ago: `30m`, `12h`, `7d`. */
export function timeOf(option: string, text: string | undefined, now = Date.now()): Date | null {
  if (text === undefined) return null;
  const [, amount, unit] = SPAN.exec(text) ?? [];
  // The pattern has only these units.
  if (amount !== undefined)
    return new Date(now - Number(amount) * SPAN_MS[unit as keyof typeof SPAN_MS]);
  const at = /^\d{4}-/.test(text) ? new Date(text) : null;
  if (at !== null && !Number.isNaN(at.getTime())) return at;
  throw new CliError("usage", `${option} ${JSON.stringify(text)} is not a valid time`, {
    hint: "write a time like 2026-11-22T10:00:00Z, or how long ago: 30m, 12h, 7d",
  });
}

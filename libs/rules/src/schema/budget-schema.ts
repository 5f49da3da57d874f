import { z } from "zod";
import { EntryId, For, objectError } from "./selector-schema.ts";

const UNITS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** A time such as `30m`, in milliseconds. */
export const Duration = z
  .string({ error: "must be a time such as 30m" })
  .regex(/^[1-9]\d{0,5}[smhd]$/, "must be a time such as 90s, 30m, 8h or 7d")
  .transform((text) => {
    const unit = text.at(-1) as keyof typeof UNITS; // the pattern allows no other unit
    return Number(text.slice(0, -1)) * UNITS[unit];
  })
  .refine((ms) => ms <= 30 * UNITS.d, { error: "must be at most 30d" });

/** Writes a time in milliseconds as rules do, in the largest unit that divides it: `90s`, `30m`, `7d`. */
export function durationText(ms: number): string {
  const [unit, size] =
    Object.entries(UNITS)
      .toReversed()
      .find(([, one]) => ms % one === 0) ?? (["s", UNITS.s] as const);
  return `${Math.round(ms / size)}${unit}`;
}

const Count = z
  .int({ error: "must be a whole number" })
  .min(1, "must be at least 1")
  .max(1_000_000, "must be at most 1000000");

/** A limit on the calls of the principals that it selects, counted for each run, agent or user, or for all of them together. */
export const Budget = z
  .strictObject(
    {
      id: EntryId,
      for: For.optional(),
      per: z.enum(["run", "agent", "user", "all"], { error: "must be run, agent, user or all" }),
      calls: Count.optional(),
      window: Duration.optional(),
      concurrency: Count.optional(),
      repeats: Count.optional(),
      depth: z
        .int({ error: "must be a whole number" })
        .min(0, "must not be negative")
        .max(16, "must be at most 16")
        .optional(),
    },
    { error: objectError("must be a mapping with id, per and limits") },
  )
  .refine(
    ({ calls, concurrency, repeats, depth }) =>
      [calls, concurrency, repeats, depth].some((limit) => limit !== undefined),
    { error: "limits nothing; give it calls, concurrency, repeats or depth" },
  )
  .refine(
    ({ per, calls, repeats, window }) =>
      per === "run" || window !== undefined || (calls === undefined && repeats === undefined),
    {
      path: ["window"],
      error:
        "is missing: calls and repeats of an agent, a user or all are counted in a window such as 1h",
    },
  )
  .refine(
    ({ calls, repeats, window }) =>
      window === undefined || calls !== undefined || repeats !== undefined,
    {
      path: ["window"],
      error: "goes only with calls or repeats",
    },
  );
export type Budget = z.infer<typeof Budget>;

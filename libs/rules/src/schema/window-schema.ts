import { parsePointer } from "@switchyard/contracts/json-pointer";
import { z } from "zod";
import { exactAmount, MAX_AMOUNT } from "../values/amount.ts";
import { Duration } from "./budget-schema.ts";
import { isSound, listOf, objectError, ToolGlob } from "./selector-schema.ts";

/** The calls of one owner that a window remembers; with more, further calls are denied until the oldest have left it. */
export const MAX_WINDOW_CALLS = 10_000;
/** The windows of a whole policy. */
export const MAX_WINDOWS = 100;

const MINUTE_MS = 60_000;

/** A JSON pointer into the arguments. */
export const Arg = z
  .string({ error: "must be a JSON pointer such as /path" })
  .max(256)
  .refine((pointer) => pointer !== "" && parsePointer(pointer) !== null, {
    error: "must be a JSON pointer such as /path or /options/0/name (RFC 6901)",
  });

const Limit = z
  .number({ error: "must be a number" })
  .refine((value) => exactAmount(value) !== null, {
    error: `must be from 0 to ${MAX_AMOUNT}, with at most four decimal places`,
  });
const within = Duration.refine((ms) => ms >= MINUTE_MS, { error: "must be at least 1m" });
const OWNERS = ["user", "agent", "run", "session", "family", "all"] as const;

export const WINDOW_LIMITS = ["lt", "lte", "gt", "gte"] as const;
export type WindowLimit = (typeof WINDOW_LIMITS)[number];
const WINDOW_KINDS = ["count", "sum", "distinct"] as const;

/** Compares calls within a time, the call that is decided about included, with a limit. */
export const Window = z
  .strictObject(
    {
      count: z.literal(true, { error: "must be true" }).optional(),
      sum: Arg.optional(),
      distinct: Arg.optional(),
      /** The tools whose calls count; left out, the calls that the rule selects with its other conditions. */
      of: listOf(ToolGlob).optional(),
      per: z.enum(OWNERS, { error: `must be one of ${OWNERS.join(", ")}` }),
      within,
      lt: Limit.optional(),
      lte: Limit.optional(),
      gt: Limit.optional(),
      gte: Limit.optional(),
      required: z.boolean({ error: "must be true or false" }).optional(),
    },
    {
      error: objectError(
        "must be a mapping with count, sum or distinct, per, within, and lt, lte, gt or gte",
      ),
    },
  )
  .refine((window) => given(window, WINDOW_KINDS).length === 1, {
    error: "needs one of count: true, sum: /pointer and distinct: /pointer",
    when: isSound,
  })
  .refine((window) => given(window, WINDOW_LIMITS).length === 1, {
    error: "needs one limit: lt, lte, gt or gte",
    when: isSound,
  })
  .refine(isReachable, {
    error: `counts at most ${MAX_WINDOW_CALLS} calls, so its limit must be a whole number below that; a budget counts more`,
    when: isSound,
  });
export type Window = z.infer<typeof Window>;

/** The outcomes of calls that `after` and `neverAfter` can be about in place of calls that were made. */
export const OUTCOMES = ["denied", "approved"] as const;

/** Earlier calls of some tools, in the same run, session or family of runs. */
export const Earlier = z.strictObject(
  {
    tools: listOf(ToolGlob),
    in: z.enum(["run", "session", "family"], { error: "must be run, session or family" }),
    within: within.optional(),
    outcome: z.enum(OUTCOMES, { error: `must be ${OUTCOMES.join(" or ")}` }).optional(),
    required: z.boolean({ error: "must be true or false" }).optional(),
  },
  { error: objectError("must be a mapping with tools and in") },
);
export type Earlier = z.infer<typeof Earlier>;

function given(window: object, keys: readonly string[]): readonly string[] {
  return keys.filter((key) => Object.hasOwn(window, key));
}

function isReachable(window: z.infer<z.ZodObject> & { readonly sum?: unknown }): boolean {
  if (window.sum !== undefined) return true;
  return WINDOW_LIMITS.every((key) => {
    const limit = window[key];
    return typeof limit !== "number" || (Number.isInteger(limit) && limit < MAX_WINDOW_CALLS);
  });
}

import { z } from "zod";
import { rpc } from "../define.ts";
import { Timestamp } from "../ids.ts";
import { runFilters, SearchedFrom, type RunStatus } from "./runs.ts";
import { storeUnavailable } from "../store-errors.ts";

/** At most so many agents, models, requesters and error codes are counted by name; the rest is one row without a name. */
export const MAX_TOTALS_NAMES = 20;

export const TotalsRange = z.enum(["1h", "24h", "7d"]);
export type TotalsRange = z.infer<typeof TotalsRange>;

/** The number of runs in each status. */
export const StatusCounts = z.object({
  running: z.int().nonnegative(),
  waiting: z.int().nonnegative(),
  succeeded: z.int().nonnegative(),
  failed: z.int().nonnegative(),
  cancelled: z.int().nonnegative(),
  dead: z.int().nonnegative(),
}) satisfies z.ZodType<Record<RunStatus, number>>;

/** The sums over some runs. */
export const RunSums = z.object({
  runs: z.int().nonnegative(),
  /** The failed and dead ones among them. */
  failed: z.int().nonnegative(),
  /** The known cost of their model calls in US dollars. */
  costUsd: z.number().nonnegative(),
  /** The number of runs with a model call whose price is unknown. */
  unpriced: z.int().nonnegative(),
  inputTokens: z.int().nonnegative(),
  outputTokens: z.int().nonnegative(),
});
export type RunSums = z.infer<typeof RunSums>;

/** The sums over the runs of one agent, model, requester or error code; null: all that have no row of their own. */
export const NamedRunSums = RunSums.extend({ name: z.string().nullable() });
export type NamedRunSums = z.infer<typeof NamedRunSums>;

/** Percentiles of the milliseconds from begin to end, over the ended runs; null when none has ended. */
export const RunDurations = z.object({
  p50: z.number().nullable(),
  p90: z.number().nullable(),
  p95: z.number().nullable(),
  p99: z.number().nullable(),
  max: z.number().nullable(),
});

/** The runs that began in one part of the range. */
export const TotalsBucket = z.object({
  at: Timestamp,
  runs: z.int().nonnegative(),
  failed: z.int().nonnegative(),
  costUsd: z.number().nonnegative(),
});

/**
 * Counts runs and sums their cost. A run belongs to the time of its begin, as in `runs.list` with the same filters, so both have the same
 * number of runs.
 */
export const totalRuns = rpc({
  subject: "yard.rpc.{caller}.runs.totals",
  summary:
    "Counts the caller's runs of a time by status, agent, model, error and requester, with cost and durations; for cli and admin those of all users.",
  role: "viewer",
  request: z
    .strictObject({
      ...runFilters,
      /** The time until now, in place of `from` and `to`; 24 hours when neither is set. */
      range: TotalsRange.optional(),
    })
    .refine(({ range, from, to }) => range === undefined || (from ?? to) === undefined, {
      error: "has range, or from and to, not both",
    })
    .refine(
      ({ from, to }) => from === undefined || to === undefined || Date.parse(from) < Date.parse(to),
      { error: "from must be before to" },
    ),
  reply: z.object({
    /** All runs of the caller that are under way now, whenever they began; filters do not matter. */
    now: z.object({
      running: z.int().nonnegative(),
      waiting: z.int().nonnegative(),
      /** The running ones that cannot continue, because a service is away. */
      suspended: z.int().nonnegative(),
    }),
    from: Timestamp,
    to: Timestamp,
    searchedFrom: SearchedFrom,
    total: RunSums,
    statuses: StatusCounts,
    agents: z.array(NamedRunSums),
    models: z.array(NamedRunSums),
    requesters: z.array(NamedRunSums),
    /** Failed and dead runs by the code of their failure. */
    errors: z.array(NamedRunSums),
    durationMs: RunDurations,
    /** The length of each bucket. */
    bucketMs: z.int().positive(),
    buckets: z.array(TotalsBucket),
  }),
  errors: { store_unavailable: storeUnavailable },
});
export type RunTotals = z.infer<typeof totalRuns.reply>;
export type TotalRuns = z.infer<typeof totalRuns.request>;

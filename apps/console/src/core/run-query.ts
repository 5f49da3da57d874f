import type { Request } from "@switchyard/client/client";

/** The filters of runs, as they are in the address of the list. */
export const RUN_FILTERS = [
  "status",
  "agent",
  "model",
  "error",
  "label",
  "by",
  "q",
  "range",
  "from",
  "to",
  "sort",
] as const;
export type RunFilterName = (typeof RUN_FILTERS)[number];
export type RunFilterValues = { readonly [Name in RunFilterName]?: string | undefined };

/** The times to choose from, and what a link to them says. */
export const RANGES = {
  "1h": "last hour",
  "24h": "last 24 hours",
  yesterday: "yesterday",
  "7d": "last 7 days",
} as const;
export type RangeName = keyof typeof RANGES;

export function isRange(text: string): text is RangeName {
  return Object.hasOwn(RANGES, text);
}

export const STATUSES = ["running", "waiting", "succeeded", "failed", "cancelled", "dead"] as const;
/** The statuses that count as failures. */
export const FAILED = "failed,dead";

type ListQuery = NonNullable<Request<"GET /runs">["query"]>;
type TotalsQuery = NonNullable<Request<"GET /runs/totals">["query"]>;

const HOUR_MS = 3_600_000;
const BACK_MS = { "1h": HOUR_MS, "24h": 24 * HOUR_MS, "7d": 168 * HOUR_MS } as const;

/** The times of a range of the address. Whole minutes: a list is not requested anew each second. */
export function timesOf(
  { range = "", from, to }: RunFilterValues,
  atMs: number = Date.now(),
): { readonly from?: string; readonly to?: string } {
  if (range === "yesterday") {
    const today = new Date(atMs).setHours(0, 0, 0, 0);
    // Noon of the day before is in that day, also where a day has 23 or 25 hours.
    const before = new Date(today - 12 * HOUR_MS).setHours(0, 0, 0, 0);
    return { from: new Date(before).toISOString(), to: new Date(today).toISOString() };
  }
  if (range === "1h" || range === "24h" || range === "7d") {
    const minute = Math.floor(atMs / 60_000) * 60_000;
    return { from: new Date(minute - BACK_MS[range]).toISOString() };
  }
  return { ...(isTime(from) && { from }), ...(isTime(to) && { to }) };
}

function isTime(text: string | undefined): text is string {
  return text !== undefined && /^\d{4}-/.test(text) && !Number.isNaN(Date.parse(text));
}

/** The query of `GET /runs` for the filters of the address; what is no filter there is left out. */
export function listQuery(values: RunFilterValues, times: ReturnType<typeof timesOf>): ListQuery {
  const { status = "", agent, model, error, label, by, q, sort } = values;
  const statuses = STATUSES.filter((one) => status.split(",").includes(one));
  return {
    limit: 200,
    ...times,
    ...(statuses.length > 0 && { statuses }),
    ...(agent && { agent }),
    ...(model && { model }),
    ...(error && { errorCode: error }),
    ...(label && { labels: [label] }),
    ...(by && { owner: by }),
    ...(q && { text: q }),
    ...((sort === "oldest" || sort === "longest" || sort === "dearest") && { sort }),
  };
}

/** The query of `GET /runs/totals` for a range alone. */
export function totalsQuery(range: RangeName): TotalsQuery {
  return range === "yesterday" ? timesOf({ range }) : { range };
}

/** The address of the list with these filters, to open and to share. */
export function runsHref(values: RunFilterValues): string {
  const query = new URLSearchParams();
  for (const name of RUN_FILTERS) {
    const value = values[name];
    if (value !== undefined && value !== "") query.set(name, value);
  }
  return query.size === 0 ? "/runs" : `/runs?${query}`;
}

import type {
  NamedRunSums,
  RunSums,
  RunTotals,
} from "@switchyard/contracts/agent-runner/run-totals";
import { MAX_TOTALS_NAMES } from "@switchyard/contracts/agent-runner/run-totals";
import { RunStatus } from "@switchyard/contracts/agent-runner/runs";
import { durationMs, hasEnded, hasFailed, type RunRow } from "./run-row.ts";

interface Range {
  readonly fromMs: number;
  readonly toMs: number;
}

const MINUTE_MS = 60_000;
/** The lengths of buckets; the shortest with which a range has at most `MOST_BUCKETS` is used. */
const BUCKETS_MS = [1, 2, 5, 10, 15, 30, 60, 180, 360, 720, 1_440].map((n) => n * MINUTE_MS);
const MOST_BUCKETS = 60;

/** Counts the rows of a range; all of them began in it. */
export function totalRows(
  rows: readonly RunRow[],
  { fromMs, toMs }: Range,
): Omit<RunTotals, "now" | "searchedFrom"> {
  const total = noSums();
  const statuses = Object.fromEntries(RunStatus.options.map((one) => [one, 0]));
  const agents = new Map<string, Sums>();
  const models = new Map<string, Sums>();
  const requesters = new Map<string, Sums>();
  const errors = new Map<string, Sums>();
  const durations: number[] = [];
  const bucketMs = bucketLength(toMs - fromMs);
  const first = Math.floor(fromMs / bucketMs);
  const buckets = Array.from({ length: Math.ceil(toMs / bucketMs) - first }, noSums);
  for (const row of rows) {
    add(total, row);
    statuses[row.status] = (statuses[row.status] ?? 0) + 1;
    add(sumsAt(agents, row.agent), row);
    add(sumsAt(models, row.model), row);
    add(sumsAt(requesters, row.requester), row);
    if (row.errorCode !== null) add(sumsAt(errors, row.errorCode), row);
    if (hasEnded(row)) durations.push(durationMs(row, toMs));
    const bucket = buckets[Math.floor(row.createdMs / bucketMs) - first];
    if (bucket !== undefined) add(bucket, row);
  }
  return {
    from: isoTime(fromMs),
    to: isoTime(toMs),
    total,
    statuses: statuses as RunTotals["statuses"], // every status is a key
    agents: largest(agents),
    models: largest(models),
    requesters: largest(requesters),
    errors: largest(errors),
    durationMs: percentiles(durations),
    bucketMs,
    buckets: buckets.map(({ runs, failed, costUsd }, index) => ({
      at: isoTime((first + index) * bucketMs),
      runs,
      failed,
      costUsd,
    })),
  };
}

type Sums = { -readonly [K in keyof RunSums]: RunSums[K] };

function noSums(): Sums {
  return { runs: 0, failed: 0, costUsd: 0, unpriced: 0, inputTokens: 0, outputTokens: 0 };
}

function add(sums: Sums, row: RunRow): void {
  sums.runs += 1;
  if (hasFailed(row.status)) sums.failed += 1;
  sums.costUsd += row.costUsd ?? 0;
  if (row.costUsd === null) sums.unpriced += 1;
  sums.inputTokens += row.inputTokens;
  sums.outputTokens += row.outputTokens;
}

function sumsAt(byName: Map<string, Sums>, name: string): Sums {
  let sums = byName.get(name);
  if (sums === undefined) byName.set(name, (sums = noSums()));
  return sums;
}

/** The names with the most runs, and the sums of all others in one row without a name. */
function largest(byName: ReadonlyMap<string, Sums>): NamedRunSums[] {
  const ordered = [...byName]
    .map(([name, sums]): NamedRunSums => Object.assign({ name }, sums))
    .toSorted((a, b) => b.runs - a.runs || ((a.name ?? "") < (b.name ?? "") ? -1 : 1));
  const rest = ordered.slice(MAX_TOTALS_NAMES);
  if (rest.length === 0) return ordered;
  const other = noSums();
  for (const sums of rest) {
    other.runs += sums.runs;
    other.failed += sums.failed;
    other.costUsd += sums.costUsd;
    other.unpriced += sums.unpriced;
    other.inputTokens += sums.inputTokens;
    other.outputTokens += sums.outputTokens;
  }
  return [...ordered.slice(0, MAX_TOTALS_NAMES), { name: null, ...other }];
}

/** Nearest-rank percentiles. */
function percentiles(durations: readonly number[]): RunTotals["durationMs"] {
  const sorted = Float64Array.from(durations).toSorted();
  const at = (share: number): number | null =>
    sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? null;
  return { p50: at(0.5), p90: at(0.9), p95: at(0.95), p99: at(0.99), max: at(1) };
}

function bucketLength(rangeMs: number): number {
  const fitting = BUCKETS_MS.find((ms) => rangeMs / ms <= MOST_BUCKETS);
  const dayMs = 1_440 * MINUTE_MS;
  return fitting ?? Math.ceil(rangeMs / dayMs / MOST_BUCKETS) * dayMs;
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

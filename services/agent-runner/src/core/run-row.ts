import type {
  RunFailure,
  RunStatus,
  runFilters,
  Usage,
} from "@switchyard/contracts/agent-runner/runs";
import type { z } from "zod";

/** The facts of a run that filters and totals need. */
export interface RunRow {
  readonly runId: string;
  readonly agent: string;
  readonly requester: string;
  readonly model: string;
  readonly status: RunStatus;
  /** True while a service that is away keeps a running run from continuing. */
  readonly isSuspended: boolean;
  readonly createdMs: number;
  readonly updatedMs: number;
  /** Null: the price of a model call is unknown; undefined: the run is of a version that did not store it. */
  readonly costUsd: number | null | undefined;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Null for runs that did not fail. */
  readonly errorCode: string | null;
  readonly labels: Readonly<Record<string, string>>;
  readonly inputStart: string;
}

/** The columns of a run's state hash that a row is read from. */
export const ROW_COLUMNS = [
  "status",
  "agent",
  "requester",
  "model",
  "createdAt",
  "updatedAt",
  "usage",
  "costUsd",
  "errorCode",
  "failure",
  "labels",
  "inputStart",
  "suspended",
] as const;

/** The error code of runs that ended before codes were stored. */
export const UNKNOWN_CODE = "unknown";

const NO_LABELS = {};

/** Reads the values of {@link ROW_COLUMNS}; null when there is no such run. */
export function readRow(runId: string, values: readonly (string | null)[]): RunRow | null {
  const [status = null, agent, requester, model, createdAt, updatedAt, usage, costUsd] = values;
  const [errorCode = null, failure = null, labels, inputStart, suspended] = values.slice(8);
  if (status === null) return null;
  // Rows are read 100,000 at a time, so what the scripts wrote is not checked against its schema once more.
  const used = usage ? (JSON.parse(usage) as Usage) : null;
  return {
    runId,
    agent: agent ?? "",
    requester: requester ?? "",
    model: model ?? "",
    status: status as RunStatus, // the scripts write no other values
    isSuspended: status === "running" && typeof suspended === "string",
    createdMs: Date.parse(createdAt ?? ""),
    updatedMs: Date.parse(updatedAt ?? ""),
    costUsd: costUsd ? (JSON.parse(costUsd) as number | null) : undefined,
    inputTokens: used?.inputTokens ?? 0,
    outputTokens: used?.outputTokens ?? 0,
    errorCode: hasFailed(status) ? errorCodeOf(errorCode, failure) : null,
    labels: labels && labels !== "{}" ? (JSON.parse(labels) as Record<string, string>) : NO_LABELS,
    inputStart: inputStart ?? "",
  };
}

/** True for the statuses that count as failures. */
export function hasFailed(status: string): boolean {
  return status === "failed" || status === "dead";
}

/** The error code from the columns of a failed or dead run: a run whose journal cannot be read has only the whole failure. */
export function errorCodeOf(errorCode: string | null, failure: string | null): string {
  if (errorCode !== null) return errorCode;
  return failure === null ? UNKNOWN_CODE : (JSON.parse(failure) as RunFailure).code;
}

/** True when nothing changes the run any more, unless a person retries it. */
export function hasEnded({ status }: Pick<RunRow, "status">): boolean {
  return status !== "running" && status !== "waiting";
}

/** The milliseconds from the begin of a run to its end, or to now. */
export function durationMs(row: RunRow, nowMs: number): number {
  return Math.max(0, (hasEnded(row) ? row.updatedMs : nowMs) - row.createdMs);
}

type Filters = { readonly [K in keyof typeof runFilters]?: z.infer<(typeof runFilters)[K]> };

/** The filters that a row is checked for; the owner selects the list that rows are read from. */
export type RowFilter = Omit<Filters, "owner">;

/** Returns a function that checks rows for filters. */
export function rowFilter(filter: RowFilter): (row: RunRow) => boolean {
  const { agent, model, status, statuses, errorCode, labels = [] } = filter;
  const fromMs = filter.from === undefined ? -Infinity : Date.parse(filter.from);
  const toMs = filter.to === undefined ? Infinity : Date.parse(filter.to);
  const text = filter.text?.toLowerCase();
  return (row) =>
    row.createdMs >= fromMs &&
    row.createdMs < toMs &&
    (agent === undefined || row.agent === agent) &&
    (model === undefined || row.model === model) &&
    (status === undefined || row.status === status) &&
    (statuses === undefined || statuses.includes(row.status)) &&
    (errorCode === undefined || row.errorCode === errorCode) &&
    labels.every((label) => hasLabel(row.labels, label)) &&
    (text === undefined || textOf(row).toLowerCase().includes(text));
}

function textOf({ runId, agent, model, requester, labels, inputStart }: RunRow): string {
  return [runId, agent, model, requester, ...Object.values(labels), inputStart].join("\n");
}

/** A key has no `=`; a value may. */
function hasLabel(labels: RunRow["labels"], label: string): boolean {
  const at = label.indexOf("=");
  const key = at === -1 ? label : label.slice(0, at);
  if (!Object.hasOwn(labels, key)) return false;
  return at === -1 || labels[key] === label.slice(at + 1);
}

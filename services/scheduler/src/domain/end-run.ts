import { backoffMs } from "@switchyard/contracts/backoff";
import { cutText } from "@switchyard/contracts/cut-text";
import type { DeliveryStatus, ScheduleRun } from "@switchyard/contracts/scheduler/schedules";
import type { z } from "zod";
import {
  withRun,
  type ActiveRun,
  type Change,
  type JobEvent,
  type JobRecord,
  type RunEnd,
} from "@switchyard/project/jobs/job-record";

export interface DeliveryResult {
  readonly status: z.output<typeof DeliveryStatus>;
  readonly error?: string;
}

const SUMMARY_CHARS = 1_000;
const BACKOFF = { firstMs: 30_000, mostMs: 3_600_000 };
/** The answer of an agent that has nothing to report. Inside of a longer answer it is ordinary text. */
const SILENT_ANSWER = "ANNOUNCE_SKIP";

/** Ends a run: its result is delivered first when the job requests that, then the run is recorded in the log. */
export function endRun(record: JobRecord, run: ActiveRun, end: RunEnd, alertAfter: number): Change {
  if (needsDelivery(record.job, end)) {
    const delivering = {
      ...run,
      phase: "delivering" as const,
      end,
      checkAtMs: end.endedAtMs,
      attempts: 0,
    };
    return { record: withRun(record, delivering), entries: [], events: [] };
  }
  return closeRun(
    record,
    { ...run, end },
    { delivered: { status: "not-requested" }, now: end.endedAtMs, alertAfter },
  );
}

function needsDelivery(
  { delivery, state }: JobRecord["job"],
  { status, output = "" }: RunEnd,
): boolean {
  if (delivery === undefined || delivery.mode === "none") return false;
  const said = output.trim();
  if (said === SILENT_ANSWER) return false;
  if (delivery.mode === "webhook") return true;
  // Chats have no empty messages, and a series of failures is announced once.
  return status === "ok" ? said !== "" : state.consecutiveErrors === 0;
}

/** Moves the run from the job's record into its log. */
export function closeRun(
  record: JobRecord,
  run: ActiveRun & { readonly end: RunEnd },
  { delivered, now, alertAfter }: { delivered: DeliveryResult; now: number; alertAfter: number },
): Change {
  const { job } = record;
  const { status, error } = outcomeOf(run.end, delivered, job.delivery?.bestEffort === true);
  const active = record.active.filter(({ runId }) => runId !== run.runId);
  const consecutiveErrors = status === "ok" ? 0 : job.state.consecutiveErrors + 1;
  const { runningAtMs: _, lastError: _error, lastDeliveryError: _delivery, ...state } = job.state;
  const [oldest] = active;
  const closed: JobRecord = {
    ...record,
    active,
    freeAtMs: now,
    job: {
      ...job,
      state: {
        ...state,
        ...(oldest !== undefined && { runningAtMs: oldest.runAtMs }),
        lastRunStatus: status,
        lastDurationMs: Math.max(0, run.end.endedAtMs - run.runAtMs),
        consecutiveErrors,
        lastDelivered: delivered.status === "delivered",
        lastDeliveryStatus: delivered.status,
        ...(error !== undefined && { lastError: error }),
        ...(delivered.error !== undefined && { lastDeliveryError: delivered.error }),
      },
    },
  };
  const after = afterOneShot(closed, run, { isOk: status === "ok", now });
  const facts = {
    runId: run.runId,
    dueAtMs: run.dueAtMs,
    status,
    ...(error !== undefined && { error }),
  };
  const events: JobEvent[] = [{ kind: "finished", facts }];
  if (consecutiveErrors > 0 && consecutiveErrors % alertAfter === 0)
    events.push({ kind: "failing", facts: { consecutiveErrors, error: error ?? "" } });
  if (after === null) events.push({ kind: "removed", facts: { by: null } });
  const entry = entryOf(after ?? closed, run, { status, error, delivered, now });
  return { record: after, entries: [entry], events };
}

/** A one-shot stays due until a run has succeeded. */
function afterOneShot(
  record: JobRecord,
  { isForced }: ActiveRun,
  { isOk, now }: { isOk: boolean; now: number },
): JobRecord | null {
  const { job } = record;
  if (job.schedule.kind !== "at" || isForced) return record;
  if (!isOk) {
    const retries = record.retries + 1;
    return { ...record, retries, holdUntilMs: now + backoffMs(retries, BACKOFF) };
  }
  if (job.deleteAfterRun) return null;
  const { nextRunAtMs: _, ...state } = job.state;
  return { ...record, job: { ...job, enabled: false, state } };
}

function outcomeOf(
  end: RunEnd,
  delivered: DeliveryResult,
  bestEffort: boolean,
): { status: RunEnd["status"]; error: string | undefined } {
  const isDelivered = delivered.status === "delivered" || delivered.status === "not-requested";
  if (end.status !== "ok" || isDelivered || bestEffort)
    return { status: end.status, error: end.error };
  return {
    status: "error",
    error: `the answer was not delivered: ${delivered.error ?? delivered.status}`,
  };
}

// oxlint-disable-next-line max-params -- the record, the run and its outcome
function entryOf(
  { job }: JobRecord,
  run: ActiveRun & { readonly end: RunEnd },
  {
    status,
    error,
    delivered,
    now,
  }: {
    status: RunEnd["status"];
    error: string | undefined;
    delivered: DeliveryResult;
    now: number;
  },
): ScheduleRun {
  const { end } = run;
  return {
    ts: now,
    jobId: job.id,
    jobName: job.name,
    action: "finished",
    status,
    dueAtMs: run.dueAtMs,
    ...(error !== undefined && { error }),
    ...(end.output !== undefined && { summary: cutText(end.output, SUMMARY_CHARS) }),
    delivered: delivered.status === "delivered",
    deliveryStatus: delivered.status,
    ...(delivered.error !== undefined && { deliveryError: delivered.error }),
    runId: run.runId,
    ...(run.start.session !== undefined && { sessionKey: run.start.session }),
    runAtMs: run.runAtMs,
    durationMs: Math.max(0, end.endedAtMs - run.runAtMs),
    ...(job.state.nextRunAtMs !== undefined && { nextRunAtMs: job.state.nextRunAtMs }),
    ...(end.model !== undefined && { model: end.model }),
    ...(end.provider !== undefined && { provider: end.provider }),
    ...(end.sessionId !== undefined && { sessionId: end.sessionId }),
    ...(end.usage !== undefined && { usage: end.usage }),
  };
}

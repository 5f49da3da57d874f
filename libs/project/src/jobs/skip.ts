import type { ScheduleRun } from "@switchyard/contracts/scheduler/schedules";
import type { Change, JobRecord } from "./job-record.ts";

export interface Skipped {
  readonly due: number;
  /** The number of further due times that the entry covers. */
  readonly missed: number;
  readonly now: number;
  readonly reason: string;
  /** The run that was begun for it, when no other entry will record its end. */
  readonly runId?: string;
}

/** Returns the log entry and the event for due times that led to no run. */
export function skip(
  { job }: JobRecord,
  { due, missed, now, reason, runId }: Skipped,
): Pick<Change, "entries" | "events"> {
  const entry: ScheduleRun = {
    ts: now,
    jobId: job.id,
    jobName: job.name,
    action: "finished",
    status: "skipped",
    dueAtMs: due,
    ...(missed > 0 && { missed }),
    error: reason,
    ...(runId !== undefined && { runId }),
    ...(job.state.nextRunAtMs !== undefined && { nextRunAtMs: job.state.nextRunAtMs }),
  };
  return {
    entries: [entry],
    events: [{ kind: "skipped", facts: { dueAtMs: due, missed, reason } }],
  };
}

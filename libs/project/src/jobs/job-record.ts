import type { Address } from "@switchyard/contracts/channels/channel-address";
import type { beginRun } from "@switchyard/contracts/agent-runner/run-commands";
import type {
  JobRunStatus,
  ScheduleJob,
  ScheduleRun,
} from "@switchyard/contracts/scheduler/schedules";
import type { z } from "zod";

/** The stored record of a job: the job itself, and its runs that have not ended. */
export interface JobRecord {
  readonly job: ScheduleJob;
  readonly active: readonly ActiveRun[];
  /** No due run begins before this time; set after an error of a one-shot, or of the schedule. */
  readonly holdUntilMs?: number;
  /** The number of failed runs of a one-shot. */
  readonly retries: number;
  /** The time when the last run ended. */
  readonly freeAtMs?: number;
  /** The digest of the declaration, for a job that `triggers.yaml` declares. */
  readonly declaration?: string;
}

/**
 * A recorded run. Its id and its command never change, so starting it again is the same run; a run that waits for a heartbeat may
 * be moved to the next one.
 */
export interface ActiveRun {
  readonly runId: string;
  readonly dueAtMs: number;
  readonly runAtMs: number;
  /**
   * `starting`: its command is not in the queue yet, or waits for its time. `running`: it may have been lost. `delivering`: it
   * has ended, and its result has to be delivered.
   */
  readonly phase: "starting" | "running" | "delivering";
  /** The time of its next check. */
  readonly checkAtMs: number;
  readonly agent: string;
  readonly start: z.output<typeof beginRun.payload>["start"];
  /** True for a run started by hand, which belongs to none of the job's due times. */
  readonly isForced: boolean;
  readonly end?: RunEnd;
  readonly attempts?: number;
  /** The address for the result when the job's delivery is `last`: it is fixed once resolved, so that a repeat is the same message. */
  readonly place?: Address;
  /** Counts the messages of it that surely were not sent. */
  readonly round?: number;
}

/** The result of an ended run. */
export interface RunEnd {
  readonly status: z.output<typeof JobRunStatus>;
  readonly error?: string;
  readonly output?: string;
  readonly model?: string;
  readonly provider?: ScheduleRun["provider"];
  readonly sessionId?: ScheduleRun["sessionId"];
  readonly usage?: ScheduleRun["usage"];
  readonly endedAtMs: number;
}

export interface JobEvent {
  readonly kind:
    | "added"
    | "changed"
    | "removed"
    | "started"
    | "finished"
    | "skipped"
    | "failing"
    | "disabled";
  readonly facts: Readonly<Record<string, unknown>>;
}

/** The writes of one step: the record (null deletes it), entries of the run log, and events. */
export interface Change {
  readonly record: JobRecord | null;
  readonly entries: readonly ScheduleRun[];
  readonly events: readonly JobEvent[];
}

/** True when a due time has to wait for the run that is under way. */
export function mustWait({ job, active }: JobRecord): boolean {
  return active.length > 0 && (job.overlap === "queue" || job.schedule.kind === "at");
}

/** Returns when the scheduler has to process the job next; null means never. */
export function wakeTime(record: JobRecord): number | null {
  const { job, active, holdUntilMs = 0 } = record;
  const { nextRunAtMs } = job.state;
  const isDue = job.enabled && nextRunAtMs !== undefined && !mustWait(record);
  const times = active.map(({ checkAtMs }) => checkAtMs);
  if (isDue) times.push(Math.max(nextRunAtMs, holdUntilMs));
  return times.length === 0 ? null : Math.min(...times);
}

export function withState(record: JobRecord, state: Partial<ScheduleJob["state"]>): JobRecord {
  return { ...record, job: { ...record.job, state: { ...record.job.state, ...state } } };
}

export function withRun(record: JobRecord, run: ActiveRun): JobRecord {
  const active = record.active.map((one) => (one.runId === run.runId ? run : one));
  return { ...record, active };
}

import { SCHEDULER_USER } from "@switchyard/contracts/user-names";
import { ALREADY_WAITS, waitingRun } from "./heartbeat.ts";
import {
  mustWait,
  withState,
  type ActiveRun,
  type Change,
  type JobEvent,
  type JobRecord,
} from "@switchyard/project/jobs/job-record";
import { missedTimes, nextTime } from "@switchyard/project/jobs/next-time";
import { skip } from "@switchyard/project/jobs/skip";

export interface DueSettings {
  readonly heartbeatMs: number;
  /** The agent of jobs that name none; when undefined, such jobs cannot run. */
  readonly agent: string | undefined;
}

/** The time until the first check of a run, unless an event reports its end earlier. */
export const FIRST_LOOK_MS = 15_000;
/** A due time that is processed later than this counts as missed, because no replica was running. */
export const GRACE_MS = 60_000;
const MOST_PARALLEL = 10;
const MOST_SCHEDULE_ERRORS = 3;
const SCHEDULE_RETRY_MS = 60_000;

/**
 * Processes the due time of a job; null when none has passed. Each due time leads to a run or to an entry of the log, in the same
 * step that advances `nextRunAtMs`.
 */
export function takeDue(record: JobRecord, now: number, settings: DueSettings): Change | null {
  const { job, holdUntilMs = 0, freeAtMs = 0 } = record;
  const due = job.state.nextRunAtMs;
  if (!job.enabled || due === undefined || Math.max(due, holdUntilMs) > now) return null;
  if (mustWait(record)) return null;
  const isLate = now - Math.max(due, freeAtMs, holdUntilMs, job.updatedAtMs) > GRACE_MS;
  const run = dueRun(record, { due, now, settings });
  const reason = skipReason(record, run, isLate);
  if (job.schedule.kind === "at") {
    if (reason !== null) return skipOnce(record, { due, now, reason });
    return begin(record, run, now);
  }
  let times: { missed: number; next: number };
  try {
    times = { missed: missedTimes(job, due, now), next: nextTime(job, now) };
  } catch (error) {
    return scheduleFailed(record, {
      due,
      now,
      reason: String(error instanceof Error ? error.message : error),
    });
  }
  const { missed, next } = times;
  const moved = withState(
    { ...record, holdUntilMs: 0 },
    { nextRunAtMs: next, scheduleErrorCount: 0 },
  );
  if (reason !== null) {
    const skipped = withState(moved, { lastRunStatus: "skipped" });
    return { record: skipped, ...skip(skipped, { due, missed, now, reason }) };
  }
  const started = begin(moved, run, now);
  if (missed === 0) return started;
  const passed = skip(moved, {
    due: nextTime(job, due),
    missed: missed - 1,
    now,
    reason: "one run stands for all due times that were missed",
  });
  return {
    record: started.record,
    entries: [...started.entries, ...passed.entries],
    events: [...started.events, ...passed.events],
  };
}

/** A run by hand, beside the schedule. */
export function startForced(
  record: JobRecord,
  now: number,
  settings: DueSettings,
): Change & { runId: string } {
  const run = newRun(record, { due: now, now, settings, isForced: true });
  return { ...begin(record, run, now), runId: run.runId };
}

/** A run that a message begins; null when it is under way already. `mark` is the message's: the same one is the same run. */
export function beginMessage(
  record: JobRecord,
  { mark, input, now }: { mark: string; input: string; now: number },
  settings: DueSettings,
): Change | null {
  const run = newRun(record, { due: now, now, settings, isForced: true });
  const name = `trig-${record.job.id.slice("job-".length)}-${mark}`;
  const runId = `${record.job.owner}~${name}`;
  if (record.active.some((one) => one.runId === runId)) return null;
  return begin(record, { ...run, runId, start: { ...run.start, runId: name, input } }, now);
}

/** True when no further run of the job may begin now. */
export function isBusy({ job, active }: JobRecord): boolean {
  return active.length >= (job.overlap === "parallel" ? MOST_PARALLEL : 1);
}

/** A run that is under way when its job is removed has a line in the log all the same. */
export function removalEntries(record: JobRecord, now: number): Change["entries"] {
  const reason = "the job was removed while its run was under way";
  return record.active.flatMap(
    ({ runId, dueAtMs: due }) => skip(record, { due, missed: 0, now, reason, runId }).entries,
  );
}

function skipReason({ job, active }: JobRecord, run: ActiveRun, isLate: boolean): string | null {
  if (active.length > 0 && job.overlap === "skip") return "an earlier run of the job is under way";
  if (active.some(({ runId }) => runId === run.runId)) return ALREADY_WAITS;
  if (active.length >= MOST_PARALLEL) return `${MOST_PARALLEL} runs of the job are under way`;
  if (isLate && job.catchUp === "skip")
    return "the due time was missed, and the job has catchUp: skip";
  return null;
}

function skipOnce(record: JobRecord, about: { due: number; now: number; reason: string }): Change {
  const { nextRunAtMs: _, ...state } = record.job.state;
  const job = {
    ...record.job,
    enabled: false,
    state: { ...state, lastRunStatus: "skipped" as const },
  };
  const over = { ...record, job };
  return { record: over, ...skip(over, { ...about, missed: 0 }) };
}

/** The due time stays; after several such errors in a row the job is disabled, with an entry in the log. */
function scheduleFailed(
  record: JobRecord,
  { due, now, reason }: { due: number; now: number; reason: string },
): Change {
  const scheduleErrorCount = record.job.state.scheduleErrorCount + 1;
  const failed = withState(
    { ...record, holdUntilMs: now + SCHEDULE_RETRY_MS },
    { scheduleErrorCount, lastError: reason },
  );
  if (scheduleErrorCount < MOST_SCHEDULE_ERRORS) return { record: failed, entries: [], events: [] };
  const { nextRunAtMs: _, ...state } = failed.job.state;
  const disabled = { ...failed, job: { ...failed.job, enabled: false, state } };
  const event: JobEvent = { kind: "disabled", facts: { reason } };
  const passed = skip(disabled, { due, missed: 0, now, reason: `the job was disabled: ${reason}` });
  return { record: disabled, entries: passed.entries, events: [...passed.events, event] };
}

function dueRun(
  record: JobRecord,
  about: { due: number; now: number; settings: DueSettings },
): ActiveRun {
  const { owner, sessionTarget, wakeMode } = record.job;
  const { now, settings } = about;
  const run = newRun(record, { ...about, isForced: false });
  // The replica that takes the due time sends its command at once; if it dies before, the first check of the run sends it.
  if (sessionTarget !== "main" || wakeMode !== "next-heartbeat")
    return { ...run, phase: "running", checkAtMs: now + FIRST_LOOK_MS };
  return waitingRun(run, { owner, heartbeatMs: settings.heartbeatMs, now });
}

function begin(record: JobRecord, run: ActiveRun, now: number): Change {
  const next = withState(
    { ...record, active: [...record.active, run] },
    { runningAtMs: now, lastRunAtMs: now },
  );
  const facts = { runId: run.runId, dueAtMs: run.dueAtMs };
  return { record: next, entries: [], events: [{ kind: "started", facts }] };
}

function newRun(
  { job, retries }: JobRecord,
  {
    due,
    now,
    settings,
    isForced,
  }: { due: number; now: number; settings: DueSettings; isForced: boolean },
): ActiveRun {
  const attempt = retries > 0 && !isForced ? `-${retries}` : "";
  const name = `cron-${job.id.slice("job-".length)}-${isForced ? "f" : ""}${due.toString(36)}${attempt}`;
  const { payload } = job;
  const timeoutSeconds = payload.timeoutSeconds ?? 0;
  return {
    runId: `${job.owner}~${name}`,
    dueAtMs: due,
    runAtMs: now,
    phase: "starting",
    checkAtMs: now,
    agent: job.agentId ?? settings.agent ?? "",
    isForced,
    start: {
      runId: name,
      input: payload.message ?? payload.text ?? "",
      ...(payload.model !== undefined && { model: payload.model }),
      ...(payload.thinking !== undefined && { thinking: payload.thinking }),
      ...(timeoutSeconds > 0 && { limits: { timeoutMs: timeoutSeconds * 1_000 } }),
      ...(job.sessionTarget === "main" && {
        session: job.sessionKey ?? "main",
        onBusy: "enqueue" as const,
      }),
      labels: { job: job.id, jobName: job.name },
      // Lets the scheduler read how the run ended.
      readers: [SCHEDULER_USER],
    },
  };
}

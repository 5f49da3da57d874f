import { randomBytes } from "node:crypto";
import {
  AccountId,
  ChannelName,
  parseTarget,
} from "@switchyard/contracts/channels/channel-address";
import type {
  JobSource,
  ScheduleJob,
  ScheduleJobInput,
  ScheduleJobPatch,
} from "@switchyard/contracts/scheduler/schedules";
import type { JobRecord } from "./job-record.ts";
import { MIN_EVERY_MS, nextTime } from "./next-time.ts";

/** An inconsistency in a job; the message addresses the author of the job. */
export class JobProblem extends Error {
  override readonly name = "JobProblem";
}

interface Made {
  readonly owner: string;
  readonly now: number;
  readonly hasAgent: boolean;
  /** Left out: a new one. */
  readonly id?: string;
}

/** A new job, due for the first time. Throws JobProblem. */
export function makeJob(
  input: Omit<ScheduleJobInput, "schedule"> & { readonly schedule: JobSource },
  { owner, now, hasAgent, id = `job-${randomBytes(8).toString("hex")}` }: Made,
): JobRecord {
  const job: ScheduleJob = {
    ...input,
    id,
    owner,
    deleteAfterRun: input.deleteAfterRun ?? input.schedule.kind === "at",
    createdAtMs: now,
    updatedAtMs: now,
    state: { consecutiveErrors: 0, scheduleErrorCount: 0 },
  };
  checkDistance(job.schedule);
  checkJob(job, hasAgent);
  return { job: withNextTime(job, now), active: [], retries: 0 };
}

/** Returns the job with a patch applied. A due time that has passed is kept unless the schedule changes. Throws JobProblem. */
export function patchJob(
  record: JobRecord,
  patch: ScheduleJobPatch,
  { now, hasAgent }: Omit<Made, "owner">,
): JobRecord {
  const { delivery: newDelivery, ...fields } = patch;
  const { delivery: oldDelivery, ...old } = record.job;
  const delivery = newDelivery === undefined ? oldDelivery : (newDelivery ?? undefined);
  // It is the job's version, too: two changes never have the same.
  const updatedAtMs = Math.max(now, old.updatedAtMs + 1);
  const merged: ScheduleJob = { ...old, ...withoutMissing(fields), updatedAtMs };
  // A delivery that a main job may not have is removed when a patch makes the job a main job.
  const keepsDelivery =
    delivery !== undefined && (merged.sessionTarget === "isolated" || delivery.mode === "webhook");
  const job: ScheduleJob = keepsDelivery ? { ...merged, delivery } : merged;
  if (patch.schedule !== undefined) checkDistance(patch.schedule);
  checkJob(job, hasAgent);
  const isRescheduled =
    patch.schedule !== undefined || (patch.enabled === true && !record.job.enabled);
  if (!isRescheduled) return { ...record, job };
  const state = { ...job.state, scheduleErrorCount: 0 };
  return { ...record, job: withNextTime({ ...job, state }, now), retries: 0, holdUntilMs: 0 };
}

/** Returns the job with its new declaration, its active runs and its state. A due time that has passed is kept unless the schedule changes. */
export function changedJob(old: JobRecord, declared: JobRecord, now: number): JobRecord {
  const updatedAtMs = Math.max(now, old.job.updatedAtMs + 1);
  const { createdAtMs, state } = old.job;
  const job = { ...declared.job, createdAtMs, updatedAtMs, state };
  const { declaration = "" } = declared;
  const isSame =
    JSON.stringify(job.schedule) === JSON.stringify(old.job.schedule) &&
    job.enabled === old.job.enabled;
  if (isSame) return { ...old, job, declaration };
  const reset = { ...state, scheduleErrorCount: 0 };
  const scheduled = withNextTime({ ...job, state: reset }, now);
  return { ...old, job: scheduled, declaration, retries: 0, holdUntilMs: 0 };
}

function withNextTime(job: ScheduleJob, now: number): ScheduleJob {
  const { nextRunAtMs: _, ...state } = job.state;
  if (job.schedule.kind === "message") return { ...job, state };
  return { ...job, state: { ...state, nextRunAtMs: nextTime(job, now) } };
}

function checkJob(job: ScheduleJob, hasAgent: boolean): void {
  const { sessionTarget, payload, delivery, schedule } = job;
  if (sessionTarget === "main" && payload.kind !== "systemEvent")
    throw new JobProblem('main cron jobs require payload.kind="systemEvent"');
  if (sessionTarget === "isolated" && payload.kind !== "agentTurn")
    throw new JobProblem('isolated cron jobs require payload.kind="agentTurn"');
  if (payload.kind === "systemEvent" && payload.text === undefined)
    throw new JobProblem("payload.text is required for systemEvent");
  if (payload.kind === "agentTurn" && payload.message === undefined)
    throw new JobProblem("payload.message is required for agentTurn");
  if (delivery?.mode === "webhook" && !isWebUrl(delivery.to))
    throw new JobProblem("cron webhook delivery requires delivery.to to be a valid http(s) URL");
  if (delivery?.mode === "announce" && sessionTarget === "main")
    throw new JobProblem(
      'cron channel delivery config is only supported for sessionTarget="isolated"',
    );
  checkAnnounce(delivery);
  if (!hasAgent && (job.agentId ?? null) === null)
    throw new JobProblem(
      "agentId is required: this installation names no agent for jobs (YARD_SCHEDULES_AGENT)",
    );
  checkSchedule(job);
  if (schedule.kind !== "at" && job.deleteAfterRun)
    throw new JobProblem('deleteAfterRun is for schedule.kind="at" only');
}

/** Used instead of a channel for the address from which the owner of the job wrote last. */
export const LAST_CHANNEL = "last";

function checkAnnounce(delivery: ScheduleJob["delivery"]): void {
  if (delivery?.mode !== "announce") return;
  const { channel, accountId, to } = delivery;
  if (channel === LAST_CHANNEL) {
    if (to === undefined && accountId === undefined) return;
    throw new JobProblem(
      'delivery.channel="last" is where you wrote last, so there is no delivery.to or delivery.accountId beside it',
    );
  }
  if (!ChannelName.safeParse(channel).success)
    throw new JobProblem(
      "cron announce delivery requires delivery.channel to name a channel, such as telegram, or last",
    );
  if (accountId !== undefined && !AccountId.safeParse(accountId).success)
    throw new JobProblem("delivery.accountId is not the name of an account");
  if (parseTarget(to ?? "") === null)
    throw new JobProblem(
      "cron announce delivery requires delivery.to to be user:ID, group:ID or channel:ID",
    );
}

/** Checks only schedules that are set now: a job of an earlier version may have a shorter distance. */
function checkDistance({ kind, everyMs = MIN_EVERY_MS }: JobSource): void {
  if (kind === "every" && everyMs < MIN_EVERY_MS)
    throw new JobProblem(
      `schedule.everyMs is ${everyMs}, and the shortest distance is ${MIN_EVERY_MS} (one second)`,
    );
}

function checkSchedule(job: ScheduleJob): void {
  const { kind, at, everyMs, expr } = job.schedule;
  if (kind === "message") return;
  if (kind === "at" && at === undefined) throw new JobProblem("schedule.at is required for at");
  if (kind === "every" && everyMs === undefined)
    throw new JobProblem("schedule.everyMs is required for every");
  if (kind === "cron" && expr === undefined)
    throw new JobProblem("schedule.expr is required for cron");
  try {
    nextTime(job, job.updatedAtMs);
  } catch (error) {
    throw new JobProblem(`schedule: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function isWebUrl(text: string | undefined): boolean {
  const url = URL.parse(text ?? "");
  return (
    url !== null &&
    (url.protocol === "https:" || url.protocol === "http:") &&
    url.username === "" &&
    url.password === ""
  );
}

function withoutMissing<T extends object>(fields: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>;
  };
}

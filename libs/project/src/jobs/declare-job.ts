import { createHash } from "node:crypto";
import type { JobSource, ScheduleJobInput } from "@switchyard/contracts/scheduler/schedules";
import { changedJob, makeJob } from "./make-job.ts";
import type { Change, JobRecord } from "./job-record.ts";
import { skip } from "./skip.ts";

/** A job as a file of the installation declares it. */
export interface Declaration {
  /** Its id in the file. */
  readonly name: string;
  readonly owner: string;
  readonly job: Omit<ScheduleJobInput, "schedule"> & { readonly schedule: JobSource };
}

/** The id of a declared job: always the same, so that each load of the file finds it. */
export function declaredId({ owner, name }: Pick<Declaration, "owner" | "name">): string {
  const digest = createHash("sha256").update(`triggers.yaml ${owner} ${name}`).digest("hex");
  return `job-${digest.slice(0, 16)}`;
}

/**
 * Applies a declaration to the existing job; returns null when this declaration was applied before. So a job that was paused, or
 * has run once, stays so until its declaration changes. Throws JobProblem.
 */
export function declareJob(
  record: JobRecord | null,
  declaration: Declaration,
  now: number,
): Change | null {
  const { owner, name, job } = declaration;
  const digest = createHash("sha256").update(JSON.stringify(job)).digest("hex");
  if (record?.declaration === digest) return null;
  const made = { owner, now, hasAgent: false, id: declaredId(declaration) };
  const fresh = makeJob(job, made);
  const declared = { ...fresh, declaration: digest, job: { ...fresh.job, declaredAs: name } };
  if (record !== null) {
    const fields = Object.keys(job).toSorted();
    const events = [{ kind: "changed" as const, facts: { by: BY, fields } }];
    return { record: changedJob(record, declared, now), entries: [], events };
  }
  const added = { kind: "added" as const, facts: { by: BY } };
  const due = fresh.job.state.nextRunAtMs;
  if (job.schedule.kind !== "at" || due === undefined || due > now)
    return { record: declared, entries: [], events: [added] };
  const over = { ...declared, job: { ...declared.job, enabled: false } };
  const reason = "its time had passed when it was declared";
  const skipped = skip(over, { due, missed: 0, now, reason });
  return { record: over, entries: skipped.entries, events: [added, ...skipped.events] };
}

/** The actor in the events of declared jobs. */
export const BY = "scheduler";

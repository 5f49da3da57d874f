import type { Service } from "@switchyard/bus/serve";
import { canonicalDigest } from "@switchyard/contracts/canonical-json";
import { changedMessage } from "@switchyard/contracts/if-version";
import {
  addSchedule,
  removeSchedule,
  runSchedule,
  updateSchedule,
  wakeSchedules,
  type ScheduleJob,
  type ScheduleJobInput,
} from "@switchyard/contracts/scheduler/schedules";
import { knownWithoutRoom, type OwnerStorage } from "@switchyard/service/owner-storage";
import type { z } from "zod";
import type { Change, JobEvent, JobRecord } from "@switchyard/project/jobs/job-record";
import { JobProblem, makeJob, patchJob } from "@switchyard/project/jobs/make-job";
import { isBusy, removalEntries, startForced, type DueSettings } from "../domain/take-due.ts";
import type { AddNote, JobStore } from "../store/job-store.ts";
import { findJob } from "./find-job.ts";

export interface WriteParts extends DueSettings {
  readonly store: JobStore;
  readonly storage: Pick<OwnerStorage, "admit">;
  readonly mostJobs: number;
  readonly now: () => number;
  /** Something may be due at once. */
  readonly onChange: () => void;
}

interface Named {
  readonly jobId: string | undefined;
  readonly owner: string | undefined;
  readonly caller: string;
  /** The change needs room in its owner's storage. */
  readonly mayGrow?: boolean;
}

/** The errors that a request about one job may end in. */
interface Refusals {
  invalid_job(message: string, data: { problem: string }): Error;
  unknown_job(message: string, data: { jobId: string }): Error;
}

type RunReply = z.output<typeof runSchedule.reply>;

const NO_ID = "jobId required (id accepted for backward compatibility)";
const MOST_ATTEMPTS = 20;

/** Serves requests that change jobs. Another owner's job is reported as unknown, like a missing one. */
export function serveWrites(service: Service, parts: WriteParts): void {
  serveAdding(service, parts);
  const { now } = parts;
  const hasAgent = parts.agent !== undefined;

  service.handle(updateSchedule, async (request, { caller, fail }) => {
    const { jobId, patch, owner, ifVersion } = request;
    if (jobId !== undefined && patch === undefined)
      throw fail.invalid_job("patch required", { problem: "patch required" });
    const fields = Object.keys(patch ?? {}).toSorted();
    const events: JobEvent[] = [{ kind: "changed", facts: { by: caller, fields } }];
    // A job may be paused when there is no room for anything else.
    const mayGrow = fields.some((field) => field !== "enabled") || patch?.enabled === true;
    return change(parts, { jobId, owner, caller, mayGrow }, fail, (record) => {
      checkVersion(record, ifVersion, fail);
      checkDeclared(record, fields.filter((field) => field !== "enabled").length === 0);
      const patched = patchJob(record, patch ?? {}, { now: now(), hasAgent });
      return { write: { record: patched, entries: [], events }, reply: { job: patched.job } };
    });
  });

  service.handle(removeSchedule, async ({ jobId, owner, ifVersion }, { caller, fail }) =>
    change(parts, { jobId, owner, caller }, fail, (record) => {
      checkVersion(record, ifVersion, fail);
      checkDeclared(record, false);
      const events: JobEvent[] = [{ kind: "removed", facts: { by: caller } }];
      const entries = removalEntries(record, now());
      return {
        write: { record: null, entries, events },
        reply: { jobId: record.job.id, removed: true },
      };
    }),
  );

  service.handle(runSchedule, async ({ jobId, mode, owner }, { caller, fail }) =>
    change<RunReply>(parts, { jobId, owner, caller }, fail, (record) => {
      const { job } = record;
      if (job.schedule.kind === "message")
        throw new JobProblem(
          `messages begin the runs of ${job.name}: publish one on ${job.schedule.subject}`,
        );
      if (isBusy(record)) return no("already-running");
      if (mode === "force") {
        const { runId, ...write } = startForced(record, now(), parts);
        return { write, reply: { ran: true, runId } };
      }
      if (!job.enabled) return no("disabled");
      // The sweeper begins a due job at once.
      const isDue = (job.state.nextRunAtMs ?? Infinity) <= now();
      return isDue ? { write: null, reply: { ran: true } } : no("not-due");
    }),
  );
}

/** A job that a file declares is changed in the file, which would undo any other change. It can be paused until its declaration changes. */
function checkDeclared({ job }: JobRecord, isPausing: boolean): void {
  if (job.declaredAs === undefined || isPausing) return;
  throw new JobProblem(
    `job ${job.id} is declared as ${job.declaredAs} in triggers.yaml; change it there and start the scheduler again, or pause it with {"enabled":false}`,
  );
}

function checkVersion(
  { job }: JobRecord,
  ifVersion: string | undefined,
  fail: { version_changed(message: string, data: { version: string }): Error },
): void {
  const version = String(job.updatedAtMs);
  if (ifVersion === undefined || ifVersion === version) return;
  throw fail.version_changed(changedMessage(`job ${job.id}`, version), { version });
}

function no(reason: NonNullable<RunReply["reason"]>): { write: null; reply: RunReply } {
  return { write: null, reply: { ran: false, reason } };
}

function serveAdding(service: Service, parts: WriteParts): void {
  const { store, storage, now, mostJobs, onChange } = parts;
  const hasAgent = parts.agent !== undefined;
  const add = async (
    input: ScheduleJobInput,
    { owner, key }: { readonly owner: string; readonly key?: string | undefined },
    fail: Pick<Refusals, "invalid_job">,
  ): Promise<ScheduleJob | AddNote | null> => {
    const known = await knownWithoutRoom(storage.admit(owner), async () =>
      key === undefined ? null : store.added(owner, key),
    );
    if (known !== null) return known;
    const atMs = now();
    const { job, ...rest } = checked(() => makeJob(input, { owner, now: atMs, hasAgent }), fail);
    const events: JobEvent[] = [{ kind: "added", facts: { by: owner } }];
    const write = { record: { ...rest, job }, entries: [], events };
    const note = { jobId: job.id, digest: canonicalDigest(input), atMs };
    const answer = await store.add(job.id, write, { now: atMs, mostJobs, key, note });
    if (typeof answer === "object") return answer;
    if (answer !== "ok") return null;
    onChange();
    return job;
  };

  service.handle(addSchedule, async ({ job: input, idempotencyKey: key }, { caller, fail }) => {
    if (input === undefined) throw fail.invalid_job("job required", { problem: "job required" });
    const added = await add(input, { owner: caller, key }, fail);
    if (added === null) throw fail.too_many_jobs(fullText(mostJobs), { limit: mostJobs });
    if (!("digest" in added)) return { job: added };
    const { jobId: id, digest, atMs } = added;
    if (digest !== canonicalDigest(input))
      throw fail.idempotency_conflict(
        `the idempotency key was used for job ${id}, which is another one; use a key of its own for each job`,
        { jobId: id },
      );
    // The job may have been changed since, or have run and been removed.
    const asAdded = { owner: caller, now: atMs, hasAgent, id };
    return { job: checked(() => makeJob(input, asAdded), fail).job };
  });

  service.handle(wakeSchedules, async ({ text, mode, agentId, sessionKey }, { caller, fail }) => {
    const input: ScheduleJobInput = {
      name: "wake",
      enabled: true,
      deleteAfterRun: true,
      schedule: { kind: "at", at: new Date(now()).toISOString() },
      sessionTarget: "main",
      wakeMode: mode,
      payload: { kind: "systemEvent", text },
      overlap: "skip",
      catchUp: "once",
      agentId,
      sessionKey,
    };
    const job = await add(input, { owner: caller }, fail);
    if (job === null || !("id" in job))
      throw fail.too_many_jobs(fullText(mostJobs), { limit: mostJobs });
    return { ok: true as const, jobId: job.id };
  });
}

/** Changes the job that a request names, as `decide` determines from its record; a concurrent write causes a retry, not an error. */
// oxlint-disable-next-line max-params -- the parts, the request, its errors and the change
async function change<R>(
  { store, storage, now, onChange }: WriteParts,
  { jobId, owner, caller, mayGrow = false }: Named,
  fail: Refusals,
  decide: (record: JobRecord) => { readonly write: Change | null; readonly reply: R },
): Promise<R> {
  if (jobId === undefined) throw fail.invalid_job(NO_ID, { problem: NO_ID });
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt += 1) {
    const stored = await findJob(store, { jobId, caller, owner });
    if (stored === null) throw fail.unknown_job(`unknown cron job id: ${jobId}`, { jobId });
    if (mayGrow) await storage.admit(stored.record.job.owner);
    const { write, reply } = checked(() => decide(stored.record), fail);
    if (write !== null && (await store.write(jobId, stored, write, { now: now() })) !== "ok")
      continue;
    onChange();
    return reply;
  }
  throw new Error(`job ${jobId} was changed by others ${MOST_ATTEMPTS} times in a row`);
}

/** A job that cannot be is a declared error, with its problem as the message. */
function checked<T>(work: () => T, fail: Pick<Refusals, "invalid_job">): T {
  try {
    return work();
  } catch (error) {
    throw error instanceof JobProblem
      ? fail.invalid_job(error.message, { problem: error.message })
      : error;
  }
}

function fullText(limit: number): string {
  return `there are ${limit} jobs already, which is the limit of one caller; remove one`;
}

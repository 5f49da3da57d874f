import type { Service } from "@switchyard/bus/serve";
import {
  getSchedule,
  listSchedules,
  scheduleRuns,
  scheduleStatus,
  type ScheduleJob,
  type ScheduleRun,
} from "@switchyard/contracts/scheduler/schedules";
import type { JobStore } from "../store/job-store.ts";
import { findJob, isAdmin, requestedOwner } from "./find-job.ts";
import { pageOf } from "./page.ts";

export interface ReadParts {
  readonly store: JobStore;
  readonly mostJobs: number;
  readonly heartbeatMs: number;
}

/** Serves read requests about jobs. Another owner's job is reported as unknown, like a missing one. */
export function serveReads(service: Service, { store, mostJobs, heartbeatMs }: ReadParts): void {
  service.handle(scheduleStatus, async ({ owner }, { caller }) => {
    const whose = requestedOwner(caller, owner);
    const jobs = whose === null ? [] : await jobsOf(store, whose);
    const next = jobs.flatMap(({ enabled, state }) => (enabled ? (state.nextRunAtMs ?? []) : []));
    return {
      enabled: true,
      jobs: jobs.length,
      limit: mostJobs,
      nextWakeAtMs: next.length === 0 ? null : next.reduce((one, other) => Math.min(one, other)),
      heartbeatMs,
    };
  });

  service.handle(listSchedules, async (request, { caller }) => {
    const { owner, all, query = "", sortBy, sortDir, includeDisabled } = request;
    const enabled = request.enabled ?? (includeDisabled ? "all" : "enabled");
    const isAll = all && owner === undefined && isAdmin(caller);
    const whose = isAll ? null : requestedOwner(caller, owner);
    const jobs = whose === null && !isAll ? [] : await jobsOf(store, whose);
    const wanted = jobs
      .filter((job) => enabled === "all" || job.enabled === (enabled === "enabled"))
      .filter(({ name, description = "" }) => includes([name, description], query))
      .toSorted((one, other) => {
        const order = compare(positionOf(one, sortBy), positionOf(other, sortBy));
        return sortDir === "asc" ? order : -order;
      });
    const from = request.cursor === undefined ? 0 : behind(wanted, request.cursor, request);
    const { items, page } = pageOf(wanted, { ...request, offset: from + request.offset });
    const last = items.at(-1);
    const next = page.hasMore && last !== undefined ? cursorOf(positionOf(last, sortBy)) : null;
    return { jobs: items, ...page, next };
  });

  service.handle(getSchedule, async ({ jobId, owner }, { caller, fail }) => {
    const stored = await findJob(store, { jobId, caller, owner });
    if (stored === null) throw fail.unknown_job(`unknown cron job id: ${jobId}`, { jobId });
    return { job: stored.record.job };
  });

  service.handle(scheduleRuns, async (request, { caller, fail }) => {
    const { jobId, owner, statuses, deliveryStatuses, query = "", sortDir } = request;
    const isOne = (request.scope ?? (jobId === undefined ? "all" : "job")) === "job";
    const unknown = () => fail.unknown_job(`unknown cron job id: ${jobId}`, { jobId: jobId ?? "" });
    if (isOne && jobId === undefined) {
      const problem = "jobId required (id accepted for backward compatibility)";
      throw fail.invalid_job(problem, { problem });
    }
    const whose = requestedOwner(caller, owner);
    const ids = isOne
      ? await idOf(store, { jobId: jobId ?? "", caller, owner })
      : await idsOf(store, whose);
    if (ids === null) throw unknown();
    const wanted = (await logsOf(store, ids))
      .filter(({ status }) => statuses === undefined || statuses.includes(status))
      .filter(
        ({ deliveryStatus }) =>
          deliveryStatuses === undefined ||
          (deliveryStatus !== undefined && deliveryStatuses.includes(deliveryStatus)),
      )
      .filter(({ jobName, summary = "", error = "" }) => includes([jobName, summary, error], query))
      .toSorted(
        (one, other) =>
          (one.ts - other.ts || one.dueAtMs - other.dueAtMs) * (sortDir === "asc" ? 1 : -1),
      );
    const { items, page } = pageOf<ScheduleRun>(wanted, request);
    return { entries: items, ...page };
  });
}

/** Reads some at a time: an owner may have thousands of removed one-shot jobs. */
async function logsOf(store: JobStore, ids: readonly string[]): Promise<ScheduleRun[]> {
  const found: ScheduleRun[] = [];
  for (let from = 0; from < ids.length; from += LOGS_AT_ONCE) {
    const some = ids.slice(from, from + LOGS_AT_ONCE);
    const logs = await Promise.all(some.map((id) => store.log(id)));
    found.push(...logs.flat());
  }
  return found;
}

const LOGS_AT_ONCE = 200;

async function jobsOf(store: JobStore, owner: string | null): Promise<ScheduleJob[]> {
  return (await store.list(owner)).map(({ record }) => record.job);
}

/** A job that has run once is removed, and its owner can still read its log. */
async function idOf(
  store: JobStore,
  query: { jobId: string; caller: string; owner: string | undefined },
): Promise<string[] | null> {
  if ((await findJob(store, query)) !== null) return [query.jobId];
  const owner = requestedOwner(query.caller, query.owner);
  const isKept = owner !== null && (await store.isRemoved(owner, query.jobId));
  return isKept ? [query.jobId] : null;
}

async function idsOf(store: JobStore, owner: string | null): Promise<string[]> {
  if (owner === null) return [];
  const [jobs, removed] = await Promise.all([jobsOf(store, owner), store.removedJobs(owner)]);
  return [...jobs.map(({ id }) => id), ...removed];
}

function includes(texts: readonly string[], query: string): boolean {
  return texts.some((text) => text.toLowerCase().includes(query.toLowerCase()));
}

type SortKey = "nextRunAtMs" | "updatedAtMs" | "name";

/** The position of a job in a sorted list; no two jobs have the same one. */
interface SortPosition {
  readonly id: string;
  readonly key: string | number;
}

function positionOf(job: ScheduleJob, sortBy: SortKey): SortPosition {
  const LAST = Number.MAX_SAFE_INTEGER;
  const key = sortBy === "nextRunAtMs" ? (job.state.nextRunAtMs ?? LAST) : job[sortBy];
  return { id: job.id, key };
}

function compare(one: SortPosition, other: SortPosition): number {
  const order =
    typeof one.key === "number" && typeof other.key === "number"
      ? one.key - other.key
      : String(one.key).localeCompare(String(other.key));
  if (order !== 0) return order;
  return one.id === other.id ? 0 : one.id < other.id ? -1 : 1;
}

function cursorOf({ id, key }: SortPosition): string {
  return `${id}:${key}`;
}

/** Counts the jobs of a sorted list on earlier pages; the one that the cursor names may be removed. */
function behind(
  sorted: readonly ScheduleJob[],
  cursor: string,
  { sortBy, sortDir }: { readonly sortBy: SortKey; readonly sortDir: "asc" | "desc" },
): number {
  const at = cursor.indexOf(":");
  const text = cursor.slice(at + 1);
  const position = { id: cursor.slice(0, at), key: sortBy === "name" ? text : Number(text) };
  const first = sorted.findIndex((job) => {
    const order = compare(positionOf(job, sortBy), position);
    return sortDir === "asc" ? order > 0 : order < 0;
  });
  return first === -1 ? sorted.length : first;
}

import type { JobStore, Stored } from "../store/job-store.ts";

/** True for callers that may read and change the jobs of every owner. */
export function isAdmin(caller: string): boolean {
  return caller === "cli" || caller === "admin";
}

/** Returns the job that a caller names; null also for one that it may not see. */
export async function findJob(
  store: JobStore,
  {
    jobId,
    caller,
    owner,
  }: { readonly jobId: string; readonly caller: string; readonly owner?: string | undefined },
): Promise<Stored | null> {
  const stored = /^job-[0-9a-f]{16}$/.test(jobId) ? await store.load(jobId) : null;
  if (stored === null) return null;
  const { job } = stored.record;
  const maySee = job.owner === caller || isAdmin(caller);
  return maySee && (owner === undefined || owner === job.owner) ? stored : null;
}

/** Returns the owner whose jobs the request is about; null when the caller may not see the jobs of another owner. */
export function requestedOwner(caller: string, owner: string | undefined): string | null {
  if (owner === undefined || owner === caller) return caller;
  return isAdmin(caller) ? owner : null;
}

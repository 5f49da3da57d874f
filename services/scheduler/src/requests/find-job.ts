import type { JobStore, Stored } from "../store/job-store.ts";

/** Who may look at and change the jobs of every owner. */
export function isAdmin(caller: string): boolean {
  return caller === "cli" || caller === "admin";
}

/** The job that a caller names; null also for one that it may not see. */
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

/** Whose jobs the request is about; another owner's are none to whoever may not see them. */
export function requestedOwner(caller: string, owner: string | undefined): string | null {
  if (owner === undefined || owner === caller) return caller;
  return isAdmin(caller) ? owner : null;
}

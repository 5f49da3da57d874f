import type { Bus } from "@switchyard/bus/bus";
import { follow } from "@switchyard/bus/follow";
import { runCancelled } from "@switchyard/contracts/agent-runner/run-events";
import { cancelByPolicy, eachPending, type DecideDeps } from "./decide-approval.ts";

/** Runs that end together are handled together: one pass over the waiting approvals serves all of them. */
const GATHER_MS = 500;

/**
 * Cancels the approvals that a cancelled run waits for, so that people are not prompted about calls that will not be made. A
 * failed run keeps its approvals: when it is retried, it continues to wait. Approvals of runs whose event was missed end with
 * their time.
 */
export function followCancelledRuns(
  bus: Bus,
  deps: DecideDeps,
  onError: (error: unknown) => void,
): { stop(): void } {
  /** Runs with the time of their end, in milliseconds since the Unix epoch. */
  const cancelled = new Map<string, number>();
  let timer: NodeJS.Timeout | null = null;
  const look = (): void => {
    timer = null;
    const runs = new Map(cancelled);
    cancelled.clear();
    cancelOfRuns(deps, runs).catch(onError);
  };
  const following = follow(bus, runCancelled, ({ at, runId }) => {
    cancelled.set(runId, Date.parse(at));
    timer ??= setTimeout(look, GATHER_MS);
  });
  return {
    stop() {
      following.stop();
      if (timer !== null) clearTimeout(timer);
    },
  };
}

async function cancelOfRuns(deps: DecideDeps, runs: ReadonlyMap<string, number>): Promise<void> {
  await eachPending(deps, Number.POSITIVE_INFINITY, async (stored) => {
    const { principal, requestedAt } = stored.approval;
    const endedAt = principal.runId === null ? undefined : runs.get(principal.runId);
    // A run that was retried since then may wait again.
    if (endedAt === undefined || Date.parse(requestedAt) > endedAt) return;
    await cancelByPolicy(deps, stored, "its run was cancelled");
  });
}

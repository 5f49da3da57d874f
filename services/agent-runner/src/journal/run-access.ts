import { fullRunId, ownerOfRun } from "@switchyard/contracts/ids";
import { RUNNER_USER } from "@switchyard/contracts/user-names";

/** True for a caller that may read and control the runs and sessions of every owner. */
export function isAdmin(caller: string): boolean {
  return caller === "cli" || caller === "admin";
}

/** True for a caller that may cancel, answer, steer, retry and copy a run. The scripts of the journal have the same rule. */
export function mayControl(caller: string, run: { readonly requester: string }): boolean {
  return caller === run.requester || isAdmin(caller);
}

/**
 * True for a caller that may see a run, in every reply about it. A run that works for another one has the requester of that one. A
 * caller that may not see a run cannot distinguish it from one that does not exist.
 */
export function maySee(
  caller: string,
  run: { readonly requester: string; readonly readers?: readonly string[] | undefined },
): boolean {
  return mayControl(caller, run) || run.readers?.includes(caller) === true;
}

/**
 * Returns the whole id of the run that a caller wants to change, its own unless it names another owner; null when it may not. Whether the run exists is not
 * checked here. Runners speak for the owners of their runs.
 */
export function controlledRun(caller: string, runId: string): string | null {
  const whole = fullRunId(caller, runId);
  if (caller === RUNNER_USER) return whole;
  return mayControl(caller, { requester: ownerOfRun(whole) ?? caller }) ? whole : null;
}

/** Returns the whole id of a run that a caller wants to start; null for the id of another owner, also for administrators. */
export function ownRun(caller: string, runId: string): string | null {
  const whole = fullRunId(caller, runId);
  return ownerOfRun(whole) === caller ? whole : null;
}

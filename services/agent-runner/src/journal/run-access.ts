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

import { createHash } from "node:crypto";
import { fullRunId } from "@switchyard/contracts/ids";

/** Runs that a run may start, all in all. */
export const MAX_CHILDREN = 16;
/** How deep child runs nest when an agent does not say. */
export const DEFAULT_DEPTH = 3;

/** The id of the run that a call starts: the same for every attempt, so it is started once. It has its parent's owner. */
export function childRunIdOf(owner: string, callId: string): string {
  return fullRunId(owner, `sub-${createHash("sha256").update(callId).digest("hex").slice(0, 26)}`);
}

import { createHash } from "node:crypto";
import { fullRunId } from "@switchyard/contracts/ids";

/** The total number of runs that a run may start. */
export const MAX_CHILDREN = 16;
/** The maximum depth of nested child runs when an agent does not set a limit. */
export const DEFAULT_DEPTH = 3;

/** The id of the run that a call starts: the same for every attempt, so it is started once. Its owner is that of its parent. */
export function childRunIdOf(owner: string, callId: string): string {
  return fullRunId(owner, `sub-${createHash("sha256").update(callId).digest("hex").slice(0, 26)}`);
}

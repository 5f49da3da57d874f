import { MAX_RUN_DEPTH } from "@switchyard/contracts/agent-runner/run-context";
import type { RunRecords } from "../runs/run-records.ts";

export interface Asked {
  readonly runId: string;
  /** The run that the asker holds: the run itself, or one that works for it. */
  readonly heldRun?: string | undefined;
  readonly instance: string;
}

/**
 * Returns the epoch of the claim by which a runner process may have a token of the run. A run above the held one has none: its
 * token only hands down what that run may do. Null when the process holds neither. Rejects when Redis does not answer.
 */
export async function epochOfHeld(
  runs: RunRecords,
  { runId, heldRun = runId, instance }: Asked,
): Promise<{ readonly epoch: number | null } | null> {
  const held = await runs.heldBy(instance, heldRun);
  if (held === null) return null;
  if (heldRun === runId) return { epoch: held.epoch };
  let above = held.parent;
  for (let depth = 0; above !== null && depth < MAX_RUN_DEPTH; depth += 1) {
    if (above === runId) return { epoch: null };
    above = await runs.parentOf(above);
  }
  return null;
}

import { client } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { approvalStates, MAX_APPROVAL_STATES } from "@switchyard/contracts/policy/approvals";
import { ServiceError } from "@switchyard/contracts/errors";
import type { ParkedApproval } from "../journal/parked-runs.ts";
import type { RunControls } from "../journal/run-controls.ts";
import { firstCallId } from "../context/tool-call.ts";

/**
 * Wakes the runs of calls whose decision no runner received: it came before the run was released, or when no runner was
 * connected. Like a decision in an event, it is not trusted: the call is made again and its provider checks the policy.
 */
export type FindMissedDecisions = (waiting: readonly ParkedApproval[]) => Promise<void>;

export function createMissedDecisions(
  bus: Bus,
  options: { readonly controls: RunControls; readonly now: () => number },
): FindMissedDecisions {
  const { controls, now } = options;
  const policy = client(bus, { approvalStates });
  const pendingOf = async (ids: string[]): Promise<ReadonlySet<string>> => {
    const { approvals } = await policy.approvalStates({ ids });
    return new Set(approvals.filter(({ state }) => state === "pending").map(({ id }) => id));
  };
  return async (waiting) => {
    for (let start = 0; start < waiting.length; start += MAX_APPROVAL_STATES) {
      const batch = waiting.slice(start, start + MAX_APPROVAL_STATES);
      const pending = await orNull(pendingOf(batch.map(({ approvalId }) => approvalId)));
      if (pending === null) return; // the next sweep retries
      for (const { runId, callId, approvalId } of batch) {
        if (pending.has(approvalId)) continue;
        const parkedCall = firstCallId(callId);
        const at = new Date(now()).toISOString();
        await controls.append({
          runId,
          entry: { kind: "wait-resolved", at, callId: parkedCall, resolution: { type: "look" } },
          by: null,
          expected: parkedCall,
          command: null,
        });
      }
    }
  };
}

/** Null while the policy service is down. */
async function orNull<T>(batch: Promise<T>): Promise<T | null> {
  try {
    return await batch;
  } catch (error) {
    if (error instanceof ServiceError) return null;
    throw error;
  }
}

import type { Bus } from "@switchyard/bus/bus";
import { client } from "@switchyard/bus/call";
import { follow } from "@switchyard/bus/follow";
import { ServiceError } from "@switchyard/contracts/errors";
import { approvalDecided, approvalExpired } from "@switchyard/contracts/policy/approval-events";
import { approvalStates, MAX_APPROVAL_STATES } from "@switchyard/contracts/policy/approvals";
import { firstCallId } from "../context/tool-call.ts";
import type { ParkedApproval } from "../journal/parked-runs.ts";
import type { RunControls } from "../journal/run-controls.ts";

interface WakeParts {
  readonly controls: RunControls;
  readonly now: () => number;
}

/**
 * Wakes runs whose approval was decided. The decision in the event is not trusted: the call is made again, and its provider
 * checks the policy. The sweeper finds a decision whose event no runner received.
 */
export function followApprovals(
  bus: Bus,
  options: WakeParts & { readonly onFault: (fault: { error: unknown }) => void },
): { stop(): void } {
  const onNews = (news: { principal: { runId: string | null }; callId: string | null }): void => {
    const { callId, principal } = news;
    if (principal.runId === null || callId === null) return;
    makeAgain({ runId: principal.runId, callId }, options).catch((error: unknown) =>
      options.onFault({ error }),
    );
  };
  const followed = [follow(bus, approvalDecided, onNews), follow(bus, approvalExpired, onNews)];
  return {
    stop() {
      for (const each of followed) each.stop();
    },
  };
}

/**
 * Wakes the runs of calls whose decision no runner received: it came before the run was released, or when no runner was
 * connected.
 */
export type FindMissedDecisions = (waiting: readonly ParkedApproval[]) => Promise<void>;

export function createMissedDecisions(bus: Bus, parts: WakeParts): FindMissedDecisions {
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
      for (const { runId, callId, approvalId } of batch)
        if (!pending.has(approvalId)) await makeAgain({ runId, callId }, parts);
    }
  };
}

/** Wakes a run to make a call again. */
async function makeAgain(
  { runId, callId: sent }: { readonly runId: string; readonly callId: string },
  { controls, now }: WakeParts,
): Promise<void> {
  const callId = firstCallId(sent);
  const at = new Date(now()).toISOString();
  const entry = { kind: "wait-resolved", at, callId, resolution: { type: "look" } } as const;
  await controls.append({ runId, entry, by: null, expected: callId, command: null });
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

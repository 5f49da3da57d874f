import type { Bus } from "@switchyard/bus/bus";
import { follow } from "@switchyard/bus/follow";
import { approvalDecided, approvalExpired } from "@switchyard/contracts/policy/approval-events";
import type { RunControls } from "../journal/run-controls.ts";
import { firstCallId } from "../context/tool-call.ts";

/**
 * Wakes runs whose approval was decided. The decision in the event is not trusted: the call is made again, and its provider
 * checks the policy. The sweeper finds a decision whose event no runner received; see `missed-decisions.ts`.
 */
export function followApprovals(
  bus: Bus,
  options: {
    readonly controls: RunControls;
    readonly now: () => number;
    readonly onFault: (fault: { error: unknown }) => void;
  },
): { stop(): void } {
  const { controls, now, onFault } = options;
  const onNews = (news: { principal: { runId: string | null }; callId: string | null }): void => {
    const { callId, principal } = news;
    if (principal.runId === null || callId === null) return;
    const parkedCall = firstCallId(callId);
    const at = new Date(now()).toISOString();
    const resolution = { type: "look" as const };
    controls
      .append({
        runId: principal.runId,
        entry: { kind: "wait-resolved", at, callId: parkedCall, resolution },
        by: null,
        expected: parkedCall,
        command: null,
      })
      .catch((error: unknown) => onFault({ error }));
  };
  const followed = [follow(bus, approvalDecided, onNews), follow(bus, approvalExpired, onNews)];
  return {
    stop() {
      for (const each of followed) each.stop();
    },
  };
}

import type { RunWait } from "@switchyard/contracts/agent-runner/run-waits";
import { openCalls, type CallState, type RunState } from "./run-state.ts";

/** True for a call that nothing can be done for at `now`, in milliseconds since the Unix epoch. */
export function isParked({ wait, resolution }: CallState, now: number): boolean {
  if (wait === null || resolution !== null) return false;
  return wait.until === null || now < Date.parse(wait.until);
}

/** Returns when the first of the waits ends by itself; null when none does. */
export function firstUntil(calls: readonly CallState[]): string | null {
  const times = calls.flatMap(({ wait }) => (wait?.until ? [wait.until] : []));
  return times.toSorted((a, b) => Date.parse(a) - Date.parse(b))[0] ?? null;
}

/** Returns the waits of a run for display; empty when it waits for nothing. */
export function waitsOf(state: RunState): RunWait[] {
  return [...stopWaits(state), ...limitWaits(state), ...callWaits(state)];
}

function stopWaits({ stopped, started }: RunState): RunWait[] {
  if (stopped === null) return [];
  const { scope, reason } = stopped;
  const stop = { scope, reason };
  return [{ reason: "stopped", callId: started.runId, tool: "", until: null, stop }];
}

function limitWaits({ atLimit, started }: RunState): RunWait[] {
  if (atLimit === null) return [];
  const { limit, value, team, until } = atLimit;
  const reached = team === undefined ? { limit, value } : { limit, value, team };
  return [{ reason: "limit", callId: started.runId, tool: "", until, limit: reached }];
}

function callWaits(state: RunState): RunWait[] {
  return openCalls(state).flatMap((call) => {
    const { wait, resolution, part } = call;
    if (wait === null || resolution !== null) return [];
    const shown = { reason: wait.reason, callId: part.callId, tool: part.tool, until: wait.until };
    switch (wait.reason) {
      case "approval":
        return [{ ...shown, approvalId: wait.approvalId }];
      case "child":
        return [{ ...shown, childRunId: wait.childRunId }];
      case "question": {
        const { question, options, schema } = wait;
        return [{ ...shown, question, options, ...(schema === undefined ? {} : { schema }) }];
      }
      case "timer":
        return [shown];
      default:
        return wait satisfies never;
    }
  });
}

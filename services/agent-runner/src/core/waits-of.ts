import type { RunWait } from "@switchyard/contracts/agent-runner/run-waits";
import { openCalls, type RunState } from "./run-state.ts";

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

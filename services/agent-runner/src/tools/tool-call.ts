import { inSpan } from "@switchyard/bus/tracing";
import type { ApprovalRequired } from "@switchyard/contracts/approval-record";
import { isError, ServiceError } from "@switchyard/contracts/errors";
import { callTool } from "@switchyard/contracts/mcp";
import { builtinTimeoutMs } from "@switchyard/contracts/toolbox";
import { toolSpan } from "../gen-ai-spans.ts";
import { backoffMs, pause, Suspended } from "../run/interruption.ts";
import { failed, type CallStep, type Parked } from "./call-outcome.ts";
import { attemptsFor, sendOnce, type ServerCall, type ToolCaller } from "./send-call.ts";

/**
 * Calls a tool through its provider: the broker or the toolbox, whose errors have the same names. Every
 * failure of the tool, the policy or the provider is an outcome that the model is told; the promise rejects only when the run must stop or pause.
 * Repeats carry the same call id, so the provider executes the call once; only a call whose outcome is
 * unknown gets another, where the agent wants it repeated.
 */
export function callServerTool(call: ServerCall, caller: ToolCaller): Promise<CallStep> {
  return inSpan(toolSpan(call), async (span) => {
    const step = await callUntilAnswered(call, caller);
    if (step.kind === "tool-denied") span.fail("denied");
    if (step.kind === "tool-failed") span.fail(step.code);
    return step;
  });
}

async function callUntilAnswered(call: ServerCall, caller: ToolCaller): Promise<CallStep> {
  let deadline = Math.min(caller.now() + timeoutOf(call), caller.deadline);
  let hasAskedAgain = false;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await sendOnce(call, caller, deadline);
    } catch (error) {
      caller.signal.throwIfAborted();
      if (isError(error, callTool, "denied")) {
        return { kind: "tool-denied", callId: call.callId, decision: error.data };
      }
      if (isError(error, callTool, "approval_required")) return parkFor(call.callId, error.data);
      if (!(error instanceof ServiceError)) throw error;
      if (error.code === "outcome_unknown" && call.onUnknownOutcome === "retry")
        return callAgain(call, caller);
      if (error.code === "outcome_unknown" && call.onUnknownOutcome === "ask")
        return askAboutOutcome(call, caller.now());
      if (error.code === "timeout" && !hasAskedAgain) {
        // The reply may be lost while the broker has the result: it answers a repeat at once.
        hasAskedAgain = true;
        deadline = Math.min(caller.now() + ASK_AGAIN_MS, caller.deadline);
        continue;
      }
      const isLate = caller.now() + backoffMs(attempt, BACKOFF_CAP_MS) >= deadline;
      if (error.code === "disconnected" && isLate) {
        throw new Suspended("the bus has been down for the length of a tool call", {
          cause: error,
        });
      }
      if (isLate || attempt >= attemptsFor(error, call)) return failed(call.callId, error);
    }
    await pause(backoffMs(attempt, BACKOFF_CAP_MS), caller.signal);
  }
}

/** Makes a call once more whose outcome nobody knows. */
export async function callAgain(call: ServerCall, caller: ToolCaller): Promise<CallStep> {
  const repeat = { ...call, callId: `${call.callId}:again`, onUnknownOutcome: "fail" as const };
  const step = await callServerTool(repeat, caller);
  const { callId } = call;
  if (step.kind !== "tool-parked" || step.wait.reason !== "approval") return { ...step, callId };
  return { ...step, callId, wait: { ...step.wait, again: true } };
}

/** The id of the call that a provider knows by this id. */
export function firstCallId(callId: string): string {
  return callId.replace(/:again$/, "");
}

function timeoutOf({ server, tool, args }: ServerCall): number {
  return server === null ? builtinTimeoutMs(tool, args) : callTool.timeoutMs;
}

const BACKOFF_CAP_MS = 2_000;

const ASK_AGAIN_MS = 5_000;

function parkFor(callId: string, { approvalId, expiresAt }: ApprovalRequired): Parked {
  const wait = { reason: "approval" as const, approvalId, until: expiresAt };
  return { kind: "tool-parked", callId, wait };
}

const ASK_ABOUT_MS = 24 * 3_600_000;

function askAboutOutcome({ callId, tool }: ServerCall, now: number): Parked {
  return {
    kind: "tool-parked",
    callId,
    wait: {
      reason: "question",
      about: "outcome",
      question: `Nobody knows whether ${tool} was carried out. Look, and say: retry makes the call once more, fail goes on without it.`,
      options: ["retry", "fail"],
      until: new Date(now + ASK_ABOUT_MS).toISOString(),
    },
  };
}

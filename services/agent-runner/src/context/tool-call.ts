import { pause } from "@switchyard/contracts/timeouts";
import { backoffMs } from "@switchyard/contracts/backoff";
import { inSpan } from "@switchyard/bus/tracing";
import type { ApprovalRequired } from "@switchyard/contracts/policy/approval-record";
import { isError, ServiceError } from "@switchyard/contracts/errors";
import { callTool } from "@switchyard/contracts/mcp-broker/mcp";
import type { StopInForce } from "@switchyard/contracts/policy/policy-budgets";
import { builtinTimeoutMs } from "@switchyard/contracts/toolbox/toolbox";
import { toolSpan } from "../model/gen-ai-spans.ts";
import { deadlineOf } from "../core/next-action.ts";
import { RunStopped, Suspended } from "../core/interruption.ts";
import { stopOfRun } from "../core/stop-of-run.ts";
import { failed, failure, type CallStep, type Parked } from "../core/call-outcome.ts";
import {
  attemptsFor,
  isAmbiguous,
  isOfTheCall,
  isOutageOfCalls,
  sendOnce,
  type ServerCall,
  type CallContext,
} from "./send-call.ts";

/**
 * Calls a tool through its provider: the broker or the toolbox, whose errors have the same names. Every failure of the tool, the
 * policy or the provider is an outcome that the model receives; the promise rejects only when the run must stop or pause, with
 * RunStopped when an administrator stopped it.
 * Repeats carry the same call id, so the provider executes the call once; only a call whose outcome is unknown gets another id,
 * where the agent wants it repeated. An attempt that was lost on its way makes the outcome unknown unless a later one returns the
 * provider's record of the call.
 */
export function callServerTool(call: ServerCall, context: CallContext): Promise<CallStep> {
  return inSpan(toolSpan(call), async (span) => {
    const step = await callUntilAnswered(call, context);
    if (step.kind === "tool-denied") span.fail("denied");
    if (step.kind === "tool-failed") span.fail(step.code);
    return step;
  });
}

async function callUntilAnswered(call: ServerCall, context: CallContext): Promise<CallStep> {
  const latest = deadlineOf(context.run.state) + BEYOND_LIMIT_MS;
  let deadline = Math.min(context.now() + timeoutOf(call), latest);
  let { mayHaveRun } = call;
  let isExtended = false;
  for (let attempt = 1; ; attempt += 1) {
    let error: ServiceError;
    try {
      return await sendOnce(call, context, deadline);
    } catch (thrown) {
      context.signal.throwIfAborted();
      if (thrown instanceof RunStopped)
        throw new RunStopped(thrown.stop, { mayHaveRun, cause: thrown });
      if (!(thrown instanceof ServiceError)) throw thrown;
      error = thrown;
    }
    if (isError(error, callTool, "approval_required")) return parkFor(call.callId, error.data);
    if (error.code === "outcome_unknown") return outcomeUnknown(call, context, error.message);
    mayHaveRun ||= isAmbiguous(error);
    const pauseMs = backoffMs(attempt, BACKOFF);
    let isLate = context.now() + pauseMs >= deadline;
    if (error.code === "disconnected" && isLate) {
      throw new Suspended("the bus has been down for the length of a tool call", { cause: error });
    }
    if (isLate && mayHaveRun && !isExtended) {
      // The provider that has the call's record answers a repeat at once.
      isExtended = true;
      isLate = false;
      deadline = Math.min(context.now() + pauseMs + ASK_AGAIN_MS, latest);
    }
    if (isLate || attempt >= attemptsFor(error, call))
      return endOf(error, { call: { ...call, mayHaveRun }, context });
    await pause(pauseMs, context.signal);
  }
}

/**
 * The run ends a call at the run's time limit, and reports it. A call whose own time ended with the run's, or a moment before,
 * would be passed to the model as failed, and the run could finish as if it had stayed within its limit.
 */
const BEYOND_LIMIT_MS = 5_000;

/** The error of an attempt becomes the call's only when no other attempt may have been carried out. */
function endOf(
  error: ServiceError,
  { call, context }: { readonly call: ServerCall; readonly context: CallContext },
): CallStep | Promise<CallStep> {
  const { callId, tool } = call;
  if (isOfTheCall(error)) return failed(callId, error);
  const stop = stopIn(error);
  if (stop !== null) throw new RunStopped(stop, { mayHaveRun: call.mayHaveRun, cause: error });
  if (isOutageOfCalls(error)) throw new Suspended(`${tool} cannot be called now`, { cause: error });
  if (call.mayHaveRun) {
    const said = `An attempt at ${tool} got no answer, so it may or may not have been carried out. The last one said ${error.code}: ${error.message}`;
    return outcomeUnknown(call, context, said);
  }
  if (isError(error, callTool, "denied"))
    return { kind: "tool-denied", callId, decision: error.data };
  return failed(callId, error);
}

/**
 * Returns the stop that denied a call and blocks every other call of the run; null for the stop of a server, which leaves the run
 * its other tools.
 */
function stopIn(error: ServiceError): StopInForce | null {
  if (!isError(error, callTool, "denied")) return null;
  return stopOfRun(error.data);
}

/** Continues as the agent wants after a call that may or may not have been made. */
function outcomeUnknown(
  call: ServerCall,
  context: CallContext,
  message: string,
): CallStep | Promise<CallStep> {
  switch (call.onUnknownOutcome) {
    case "retry":
      return callAgain(call, context);
    case "ask":
      return askAboutOutcome(call, context.now());
    case "fail":
      return failure(call.callId, "outcome_unknown", message);
    default:
      return call.onUnknownOutcome satisfies never;
  }
}

/** Repeats a call whose outcome is unknown. */
export async function callAgain(call: ServerCall, context: CallContext): Promise<CallStep> {
  const callId = `${call.callId}:again`;
  const repeat = { ...call, callId, onUnknownOutcome: "fail", mayHaveRun: true } as const;
  const step = await callServerTool(repeat, context);
  const first = { callId: call.callId };
  if (step.kind !== "tool-parked" || step.wait.reason !== "approval") return { ...step, ...first };
  return { ...step, ...first, wait: { ...step.wait, again: true } };
}

/** Returns the id of the original call for the id that a provider has. */
export function firstCallId(callId: string): string {
  return callId.replace(/:again$/, "");
}

function timeoutOf({ server, tool, args }: ServerCall): number {
  return server === null ? builtinTimeoutMs(tool, args) : callTool.timeoutMs;
}

const BACKOFF = { firstMs: 250, mostMs: 2_000 };

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
      question: `It is unknown whether ${tool} was carried out. Check, and answer: retry makes the call once more, fail continues without it.`,
      options: ["retry", "fail"],
      until: new Date(now + ASK_ABOUT_MS).toISOString(),
    },
  };
}

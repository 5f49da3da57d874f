import { pause } from "@switchyard/contracts/timeouts";
import { backoffMs } from "@switchyard/contracts/backoff";
import { inSpan } from "@switchyard/bus/tracing";
import type { ApprovalRequired } from "@switchyard/contracts/policy/approval-record";
import { isError, ServiceError } from "@switchyard/contracts/errors";
import { callTool } from "@switchyard/contracts/mcp-broker/mcp";
import type { StopInForce } from "@switchyard/contracts/policy/policy-budgets";
import { builtinTimeoutMs } from "@switchyard/contracts/toolbox/toolbox";
import type { Bus } from "@switchyard/bus/bus";
import type { UnknownOutcome } from "@switchyard/contracts/skill-importer/agents";
import { StorageFull } from "@switchyard/contracts/store-errors";
import { toolSpan } from "../model/gen-ai-spans.ts";
import { deadlineOf } from "../core/next-action.ts";
import {
  RunStopped,
  Suspended,
  CancelRequested,
  TimeOver,
  stopOfRun,
} from "../core/interruption.ts";
import {
  failed,
  failure,
  type CallStep,
  type Parked,
  answered,
  type CallOutcome,
} from "../core/call-outcome.ts";
import { FenceLost } from "../journal/run-store.ts";
import { linkSignals } from "../core/linked-signal.ts";
import type { RunContext } from "./run-context.ts";
import type { ActiveRun } from "../journal/active-run.ts";
import { storeResultFiles } from "./file-store.ts";

export interface ServerCall {
  readonly callId: string;
  /** Null for a built-in tool: the toolbox has it. */
  readonly server: string | null;
  readonly tool: string;
  readonly args: Record<string, unknown>;
  /** False when no catalogue has the tool: then a call without a responder means that the tool does not exist. */
  readonly isListed: boolean;
  /** The agent's setting for a call whose outcome is unknown: it may be made once more, under another id. */
  readonly onUnknownOutcome: UnknownOutcome;
  /** True when an earlier attempt at it was sent, and its outcome is unknown. */
  readonly mayHaveRun: boolean;
}

/** The parts of its run that a call needs. */
export type CallContext = Pick<RunContext, "clients" | "tokens" | "files" | "signal" | "now"> & {
  readonly bus: Pick<Bus, "status">;
  readonly run: Pick<ActiveRun, "state" | "hold">;
};

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

/** Sends a call to its provider once, and returns its result. Rejects with the provider's error. */
async function sendOnce(
  { callId, server, tool, args }: ServerCall,
  context: CallContext,
  deadline: number,
): Promise<CallOutcome> {
  const token = await context.tokens.get();
  const until = linkSignals(context.signal);
  let wasAway = false;
  const stopWatch = watchReconnect(context.bus, () => {
    wasAway = true;
    until.abort(new Error("the bus was away"));
  });
  try {
    const { runId } = context.run.hold;
    // Providers refuse a lower one than they have seen.
    const epoch = Number(context.run.hold.epoch);
    const limits = { deadline, signal: until.signal, correlationId: runId };
    const request = { tool, args, token, callId, epoch };
    const reply =
      server === null
        ? await context.clients.callBuiltin(request, limits)
        : await context.clients.callTool(
            { ...request, progress: runId },
            { ...limits, tokens: { server } },
          );
    const owner = context.run.state.started.requester;
    const files = await storeResultFiles(reply.content, { files: context.files, owner });
    return answered(callId, { ...reply, files });
  } catch (error) {
    if (isError(error, callTool, "invalid_token")) context.tokens.refuse(token);
    if (isError(error, callTool, "stale_epoch"))
      throw new FenceLost(`another runner has run ${context.run.hold.runId}`, { cause: error });
    if (endsTheCall(context.signal)) stopAtProvider({ callId, server, token }, context);
    if (!wasAway) throw error;
    throw new ServiceError("disconnected", "the bus was away while the call was under way", {
      cause: error,
      retryable: false,
    });
  } finally {
    until.release();
    stopWatch();
  }
}

const MANY = Number.POSITIVE_INFINITY;

/** Returns how often a call is sent at most within its time: failures before the tool may pass, the tool's own are final. */
function attemptsFor(error: ServiceError, call: ServerCall): number {
  if (isError(error, callTool, "server_down")) return error.data.isReturning === true ? MANY : 1;
  switch (error.code) {
    case "disconnected": // our own connection is being restored
    case "timeout": // the replica that had the call is gone; another one may have its outcome
    case "deadline_exceeded":
      return MANY;
    case "invalid_token": // a new token is used
    case "internal": // the reply may contain whether it was sent
    case "invalid_reply":
      return 2;
    case "no_responders":
      return call.isListed ? 6 : 1;
    case "policy_unavailable":
    case "call_store_unavailable":
    case "overloaded":
    case "server_overloaded":
    case "circuit_open":
    case "not_owner":
    case "owned_elsewhere":
    case "lease_unavailable":
      return 6;
    default:
      return 1;
  }
}

/** True for an end that leaves open whether the call was made: only the provider's record of it states that. */
function isAmbiguous({ code, retryable }: ServiceError): boolean {
  return code === "disconnected" ? !retryable : AMBIGUOUS.has(code);
}

const AMBIGUOUS: ReadonlySet<string> = new Set([
  "timeout",
  "deadline_exceeded",
  "internal",
  "invalid_reply",
  "payload_too_large", // the result may be the part that is too large
]);

/** True for an error that describes a call that was made, or may have been. Every other error describes one attempt alone. */
function isOfTheCall({ code }: ServiceError): boolean {
  return OF_THE_CALL.has(code);
}

const OF_THE_CALL: ReadonlySet<string> = new Set([
  "tool_failed",
  "invalid_result",
  "result_too_large",
  "tool_timeout",
  "stopped",
]);

/** True when something that every call needs is down: the run waits for it, and the model is not troubled with it. */
function isOutageOfCalls(error: ServiceError): boolean {
  // Redis has no room; a run whose owner has no room fails instead.
  if (error.code === "storage_full")
    return StorageFull.safeParse(error.data).data?.scope === "redis";
  if (isError(error, callTool, "policy_unavailable"))
    return OUTAGE_CAUSES.has(error.data.cause.split(":")[0] ?? "");
  return error.code === "call_store_unavailable" || error.code === "lease_unavailable";
}

/** Other causes are faults, which may last as long as the call is unchanged. */
const OUTAGE_CAUSES: ReadonlySet<string> = new Set([
  "timeout",
  "no_responders",
  "disconnected",
  "overloaded",
  "deadline_exceeded",
  "audit_unavailable",
  "approvals_unavailable",
  "stops_unknown",
]);

/** A run that is handed over or lost continues elsewhere with the same call; only these two reasons end it. */
function endsTheCall({ aborted, reason }: AbortSignal): boolean {
  return (
    aborted && (reason instanceof CancelRequested || (reason instanceof TimeOver && reason.endsRun))
  );
}

/** The reply is not awaited: the run ends either way, and a provider that is away has its own deadline. */
function stopAtProvider(
  { callId, server, token }: { callId: string; server: string | null; token: string },
  { clients, run }: CallContext,
): void {
  const limits = { correlationId: run.hold.runId };
  const answer =
    server === null
      ? clients.cancelBuiltin({ callId, token }, limits)
      : clients.cancelCall({ callId, token }, { ...limits, tokens: { server } });
  answer.catch(() => undefined);
}

const INTERVAL_MS = 250;

/** The callbacks for a reconnected bus. All watchers of one bus share a timer, which runs while there are any. */
interface Watch {
  readonly watchers: Set<() => void>;
  readonly timer: NodeJS.Timeout;
}

const watches = new WeakMap<object, Watch>();

/**
 * Calls back, once, when the bus has reconnected after an outage. A reply that was sent during the outage is lost, so waiting
 * for it would last until the deadline. The returned function ends the watch.
 */
function watchReconnect(bus: Pick<Bus, "status">, onBack: () => void): () => void {
  const { watchers, timer } = watches.get(bus) ?? startWatch(bus);
  const watcher = (): void => onBack();
  watchers.add(watcher);
  return () => {
    watchers.delete(watcher);
    if (watchers.size > 0) return;
    clearInterval(timer);
    if (watches.get(bus)?.timer === timer) watches.delete(bus);
  };
}

function startWatch(bus: Pick<Bus, "status">): Watch {
  const watchers = new Set<() => void>();
  let away: ReadonlySet<() => void> | null = null;
  const timer = setInterval(() => {
    if (bus.status !== "connected") {
      away = new Set(watchers);
    } else if (away !== null) {
      // A watcher that was added after the outage began has lost no reply.
      for (const watcher of away) if (watchers.has(watcher)) watcher();
      away = null;
    }
  }, INTERVAL_MS);
  const watch = { watchers, timer };
  watches.set(bus, watch);
  return watch;
}

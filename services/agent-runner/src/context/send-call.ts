import type { Bus } from "@switchyard/bus/bus";
import type { UnknownOutcome } from "@switchyard/contracts/skill-importer/agents";
import { isError, ServiceError } from "@switchyard/contracts/errors";
import { StorageFull } from "@switchyard/contracts/store-errors";
import { callTool } from "@switchyard/contracts/mcp-broker/mcp";
import { FenceLost } from "../journal/run-store.ts";
import { CancelRequested, TimeOver } from "../core/interruption.ts";
import { linkSignals } from "../core/linked-signal.ts";
import { watchReconnect } from "./reconnect-watch.ts";
import type { RunContext } from "./run-context.ts";
import type { ActiveRun } from "../journal/active-run.ts";
import { storeResultFiles } from "./result-files.ts";
import { answered, type CallOutcome } from "../core/call-outcome.ts";

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

/** Sends a call to its provider once, and returns its result. Rejects with the provider's error. */
export async function sendOnce(
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
export function attemptsFor(error: ServiceError, call: ServerCall): number {
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
export function isAmbiguous({ code, retryable }: ServiceError): boolean {
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
export function isOfTheCall({ code }: ServiceError): boolean {
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
export function isOutageOfCalls(error: ServiceError): boolean {
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

import type { Bus } from "@switchyard/bus/connect";
import type { UnknownOutcome } from "@switchyard/contracts/agents";
import { isError, ServiceError } from "@switchyard/contracts/errors";
import { callTool } from "@switchyard/contracts/mcp";
import { FenceLost } from "../journal/run-store.ts";
import type { Peers } from "../peers.ts";
import { CancelRequested, TimeOver } from "../run/interruption.ts";
import { linkSignals } from "../run/linked-signal.ts";
import { watchReconnect } from "../run/reconnect-watch.ts";
import type { RunTokenKeeper } from "../run/run-token-keeper.ts";
import { answered, type CallOutcome } from "./call-outcome.ts";

export interface ServerCall {
  readonly callId: string;
  /** Null for a built-in tool: the toolbox has it. */
  readonly server: string | null;
  readonly tool: string;
  readonly args: Record<string, unknown>;
  /** False when no catalogue has the tool: then nobody answering means that it does not exist. */
  readonly isListed: boolean;
  /** Whether a call whose outcome nobody knows is made once more, under another id. */
  readonly onUnknownOutcome: UnknownOutcome;
}

export interface ToolCaller {
  readonly bus: Pick<Bus, "status">;
  readonly peers: Peers;
  readonly tokens: RunTokenKeeper;
  readonly runId: string;
  /** Of this runner's hold of the run: providers refuse a lower one than they have seen. */
  readonly epoch: number;
  /** Ends the waiting, with its reason. */
  readonly signal: AbortSignal;
  /** No call lasts longer than this, in milliseconds since the Unix epoch. */
  readonly deadline: number;
  readonly now: () => number;
}

/** Sends a call to its provider once, and gives back its result. Rejects with what the provider answered. */
export async function sendOnce(
  { callId, server, tool, args }: ServerCall,
  caller: ToolCaller,
  deadline: number,
): Promise<CallOutcome> {
  const token = await caller.tokens.get();
  const watch = watchReconnect(caller.bus);
  const until = linkSignals(caller.signal, watch.signal);
  try {
    const { epoch, runId } = caller;
    const limits = { deadline, signal: until.signal, correlationId: runId };
    const request = { tool, args, token, callId, epoch };
    const reply =
      server === null
        ? await caller.peers.callBuiltin(request, limits)
        : await caller.peers.callTool(
            { ...request, progress: runId },
            { ...limits, tokens: { server } },
          );
    return answered(callId, reply);
  } catch (error) {
    if (isError(error, callTool, "invalid_token")) caller.tokens.refuse(token);
    if (isError(error, callTool, "stale_epoch"))
      throw new FenceLost(`another runner has run ${caller.runId}`, { cause: error });
    if (endsTheCall(caller.signal)) stopAtProvider({ callId, server, token }, caller);
    if (!watch.signal.aborted) throw error;
    throw new ServiceError("disconnected", "the bus was away while the call was under way", {
      cause: error,
    });
  } finally {
    until.release();
    watch.stop();
  }
}

const MANY = Number.POSITIVE_INFINITY;

/** How often a call is sent at most: failures in front of the tool may pass, the tool's own stand. */
export function attemptsFor(error: ServiceError, call: ServerCall): number {
  switch (error.code) {
    case "disconnected":
      return MANY; // our own connection is being restored
    case "invalid_token":
      return 2; // with a new token
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

/** A run that is handed over or lost goes on elsewhere with the same call; only these two end it. */
function endsTheCall({ aborted, reason }: AbortSignal): boolean {
  return (
    aborted && (reason instanceof CancelRequested || (reason instanceof TimeOver && reason.endsRun))
  );
}

/** Nobody waits for it: the run ends either way, and a provider that is away has its own deadline. */
function stopAtProvider(
  { callId, server, token }: { callId: string; server: string | null; token: string },
  { peers, runId }: ToolCaller,
): void {
  const limits = { correlationId: runId };
  const asked =
    server === null
      ? peers.cancelBuiltin({ callId, token }, limits)
      : peers.cancelCall({ callId, token }, { ...limits, tokens: { server } });
  asked.catch(() => undefined);
}

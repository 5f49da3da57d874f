import type { CallStore } from "./call-store.ts";
import type { AskedFor, PolicyGate } from "./policy-gate.ts";
import type { RunningCall, RunningCalls } from "./running-calls.ts";

export interface CancelRequest {
  readonly callId: string;
  readonly token?: string | undefined;
  /** The server that the call is of; null for a provider without servers. */
  readonly server: string | null;
}

export interface Cancelled {
  readonly cancelled: boolean;
}

export interface CancelDeps {
  readonly running: RunningCalls;
  readonly gate: PolicyGate;
  readonly store: CallStore;
  /** The name of this process in the records of calls. */
  readonly holder: string;
  /** Asks the process that has a call. */
  readonly passOn: (holder: string, request: CancelRequest, asked: AskedFor) => Promise<Cancelled>;
}

/** Cancels a call in work here or at the process that has it. */
export async function cancelCall(
  deps: CancelDeps,
  request: CancelRequest,
  asked: AskedFor,
): Promise<Cancelled> {
  if (deps.running.find(request.callId) !== null) return cancelHere(deps, request, asked);
  // Without Redis nobody knows where it is: for who asks it is as if there were none.
  const record = await deps.store.read(request.callId).catch(() => null);
  const holder = record?.state === "claimed" ? record.holder : undefined;
  if (holder === undefined || holder === deps.holder) return { cancelled: false };
  return deps.passOn(holder, request, asked);
}

/**
 * Cancels a call in work of the same caller and the same run. Anybody else is told what one is told
 * about a call that does not exist.
 */
export async function cancelHere(
  deps: Pick<CancelDeps, "running" | "gate">,
  request: CancelRequest,
  asked: AskedFor,
): Promise<Cancelled> {
  const call = deps.running.find(request.callId);
  if (call === null || call.ref.server !== request.server || call.caller !== asked.onBehalfOf)
    return { cancelled: false };
  if (!(await isOfSameRun(deps.gate, call, asked))) return { cancelled: false };
  // It may have ended while the policy was asked; then nothing is left to stop.
  if (deps.running.find(request.callId) !== call) return { cancelled: false };
  call.cancel();
  return { cancelled: call.isCancelled };
}

/** A run may have got a new token since: then the policy says whose it is. */
async function isOfSameRun(gate: PolicyGate, call: RunningCall, asked: AskedFor): Promise<boolean> {
  if (asked.token === call.token) return true;
  if (asked.token === undefined || call.token === undefined) return false;
  // What it decides about the tool does not matter; a token that is not good is refused.
  const { principal } = await gate.check({ ref: call.ref, args: {} }, asked);
  return principal.runId !== null && principal.runId === call.principal.runId;
}

import type { ArrivingCall, ArrivingCalls } from "./arriving-calls.ts";
import type { CallStore } from "./call-store.ts";
import { ownCallId } from "./own-call-id.ts";
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
  readonly arriving: ArrivingCalls;
  readonly gate: PolicyGate;
  readonly store: CallStore;
  /** The name of this process in the records of calls. */
  readonly holder: string;
  /** Asks the process that has a call. */
  readonly passOn: (holder: string, request: CancelRequest, asked: AskedFor) => Promise<Cancelled>;
}

/**
 * Cancels a call that arrives or is in work here, or is at the process that has it. One that waits for its server or its
 * decision at another process is told as not in work, and is not made.
 */
export async function cancelCall(
  deps: CancelDeps,
  request: CancelRequest,
  asked: AskedFor,
): Promise<Cancelled> {
  const cancelled = await cancelArriving(deps, request, asked);
  const own = ownCallId(asked.onBehalfOf, request.callId);
  if (deps.running.find(own) !== null) {
    const inWork = await cancelHere(deps, request, asked);
    return { cancelled: cancelled || inWork.cancelled };
  }
  if (cancelled) return { cancelled };
  // Nobody may have it in work yet: then it is not made, wherever it waits. Without Redis nobody makes it either.
  const owner = { caller: asked.onBehalfOf, token: asked.token };
  const record = await deps.store.forbid(own, owner).catch(() => null);
  const holder = record?.state === "claimed" ? record.holder : undefined;
  if (holder === undefined || holder === deps.holder) return { cancelled: false };
  return deps.passOn(holder, request, asked);
}

async function cancelArriving(
  { arriving, gate }: Pick<CancelDeps, "arriving" | "gate">,
  { callId, server }: CancelRequest,
  asked: AskedFor,
): Promise<boolean> {
  let isAny = false;
  for (const call of arriving.find(callId)) {
    if (call.server !== server || call.caller !== asked.onBehalfOf) continue;
    if (await areOfSameRun(gate, call, asked)) isAny = arriving.cancel(call) || isAny;
  }
  return isAny;
}

/** Of a call that arrives nobody has asked the policy yet. */
async function areOfSameRun(
  gate: PolicyGate,
  { token }: ArrivingCall,
  asked: AskedFor,
): Promise<boolean> {
  if (asked.token === token) return true;
  if (asked.token === undefined || token === undefined) return false;
  const [own, other] = await Promise.all([
    gate.identify(asked),
    gate.identify({ ...asked, token }),
  ]);
  return own.runId !== null && own.runId === other.runId;
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
  const own = ownCallId(asked.onBehalfOf, request.callId);
  const call = deps.running.find(own);
  if (call === null || call.ref.server !== request.server) return { cancelled: false };
  if (!(await isOfSameRun(deps.gate, call, asked))) return { cancelled: false };
  // It may have ended while the policy was asked; then nothing is left to stop.
  if (deps.running.find(own) !== call) return { cancelled: false };
  call.cancel();
  return { cancelled: call.isCancelled };
}

/** A run may have got a new token since: then the policy says whose it is. */
async function isOfSameRun(gate: PolicyGate, call: RunningCall, asked: AskedFor): Promise<boolean> {
  if (asked.token === call.token) return true;
  if (asked.token === undefined || call.token === undefined) return false;
  const { runId } = await gate.identify(asked);
  return runId !== null && runId === call.principal.runId;
}

import type { CallInWork } from "./call-in-work.ts";
import type { CallStore } from "./call-store.ts";
import type { CallsInWork } from "./calls-in-work.ts";
import { ownCallId } from "./own-call-id.ts";
import type { AskedFor, PolicyGate } from "./policy-gate.ts";

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
  readonly calls: Pick<CallsInWork, "find">;
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
  const { callId } = request;
  const here = deps.calls.find(callId).filter((call) => call.asked.onBehalfOf === asked.onBehalfOf);
  const cancelled = await cancelThese(deps, here, { request, asked });
  if (cancelled || here.some(({ work }) => work !== null)) return { cancelled };
  // Nobody may have it in work yet: then it is not made, wherever it waits. Without Redis nobody makes it either.
  const owner = { caller: asked.onBehalfOf, token: asked.token };
  const own = ownCallId(asked.onBehalfOf, callId);
  const record = await deps.store.forbid(own, owner).catch(() => null);
  const holder = record?.state === "claimed" ? record.holder : undefined;
  if (holder === undefined || holder === deps.holder) return { cancelled: false };
  return deps.passOn(holder, request, asked);
}

/**
 * Cancels a call of this process, of the same caller and the same run. Anybody else is told what one is told
 * about a call that does not exist.
 */
export async function cancelHere(
  deps: Pick<CancelDeps, "calls" | "gate">,
  request: CancelRequest,
  asked: AskedFor,
): Promise<Cancelled> {
  const here = deps.calls
    .find(request.callId)
    .filter((call) => call.asked.onBehalfOf === asked.onBehalfOf && call.work !== null);
  return { cancelled: await cancelThese(deps, here, { request, asked }) };
}

async function cancelThese(
  { calls, gate }: Pick<CancelDeps, "calls" | "gate">,
  found: readonly CallInWork[],
  { request, asked }: { readonly request: CancelRequest; readonly asked: AskedFor },
): Promise<boolean> {
  let isAny = false;
  for (const call of found) {
    if (call.server !== request.server || !(await isOfSameRun(gate, call, asked))) continue;
    // It may have ended while the policy was asked; then nothing is left to stop.
    if (calls.find(request.callId).includes(call)) isAny = call.cancel() || isAny;
  }
  return isAny;
}

/** A run may have got a new token since: then the policy says whose both are. */
async function isOfSameRun(gate: PolicyGate, call: CallInWork, asked: AskedFor): Promise<boolean> {
  const { token } = call.asked;
  if (asked.token === token) return true;
  if (asked.token === undefined || token === undefined) return false;
  const own = await gate.identify(asked);
  const other = call.work?.principal ?? (await gate.identify({ ...asked, token }));
  return own.runId !== null && own.runId === other.runId;
}

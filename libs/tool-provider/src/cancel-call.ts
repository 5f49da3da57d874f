import { ServiceError } from "@switchyard/contracts/errors";
import type { CallInWork } from "./call-in-work.ts";
import type { CallStore } from "./call-store.ts";
import type { CallsInWork } from "./calls-in-work.ts";
import { ownCallId } from "./own-call-id.ts";
import type { Requester, PolicyGate } from "./policy-gate.ts";

export interface CancelRequest {
  readonly callId: string;
  readonly token?: string | undefined;
  /** The server of the call; null for a provider without servers. */
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
  /** Calls the process that has a call. */
  readonly passOn: (
    holder: string,
    request: CancelRequest,
    requester: Requester,
  ) => Promise<Cancelled>;
}

/**
 * Cancels a call that arrives or is in progress here, or is at the process that has it. One that waits for its server or its decision at
 * another process is reported as not in progress, and is not made.
 */
export async function cancelCall(
  deps: CancelDeps,
  request: CancelRequest,
  requester: Requester,
): Promise<Cancelled> {
  const { callId } = request;
  const here = deps.calls
    .find(callId)
    .filter((call) => call.requester.onBehalfOf === requester.onBehalfOf);
  const cancelled = await cancelThese(deps, here, { request, requester });
  if (cancelled || here.some(({ work }) => work !== null)) return { cancelled };
  // No process may have begun it yet: then it is not made, wherever it waits. Without Redis no process makes it either.
  const owner = { caller: requester.onBehalfOf, token: requester.token };
  const own = ownCallId(requester.onBehalfOf, callId);
  const record = await deps.store.forbid(own, owner).catch(() => null);
  const holder = record?.state === "claimed" ? record.holder : undefined;
  if (holder === undefined || holder === deps.holder) return { cancelled: false };
  return deps.passOn(holder, request, requester);
}

/** Calls the process that has a call. A process that is gone has no call in progress any more. */
export async function askHolder(
  { deadline, signal, correlationId, traceparent }: Requester,
  ask: (
    limits: Pick<Requester, "deadline" | "signal" | "correlationId" | "traceparent">,
  ) => Promise<Cancelled>,
): Promise<Cancelled> {
  try {
    return await ask({ deadline, signal, correlationId, traceparent });
  } catch (error) {
    if (!(error instanceof ServiceError) || OF_THE_CALLER.has(error.code)) throw error;
    return { cancelled: false };
  }
}

const OF_THE_CALLER: ReadonlySet<string> = new Set(["invalid_token", "policy_unavailable"]);

/**
 * Cancels a call of this process, of the same caller and the same run. Any other requester gets the answer for a call that does not exist.
 */
export async function cancelHere(
  deps: Pick<CancelDeps, "calls" | "gate">,
  request: CancelRequest,
  requester: Requester,
): Promise<Cancelled> {
  const here = deps.calls
    .find(request.callId)
    .filter((call) => call.requester.onBehalfOf === requester.onBehalfOf && call.work !== null);
  return { cancelled: await cancelThese(deps, here, { request, requester }) };
}

async function cancelThese(
  { calls, gate }: Pick<CancelDeps, "calls" | "gate">,
  found: readonly CallInWork[],
  { request, requester }: { readonly request: CancelRequest; readonly requester: Requester },
): Promise<boolean> {
  let isAny = false;
  for (const call of found) {
    if (call.server !== request.server || !(await isOfSameRun(gate, call, requester))) continue;
    // It may have ended while the policy answered; then nothing is left to stop.
    if (calls.find(request.callId).includes(call)) isAny = call.cancel() || isAny;
  }
  return isAny;
}

/** A run may have got a new token since: then the policy resolves the runs of both. */
async function isOfSameRun(
  gate: PolicyGate,
  call: CallInWork,
  requester: Requester,
): Promise<boolean> {
  const { token } = call.requester;
  if (requester.token === token) return true;
  if (requester.token === undefined || token === undefined) return false;
  const own = await gate.identify(requester);
  const other = call.work?.principal ?? (await gate.identify({ ...requester, token }));
  return own.runId !== null && own.runId === other.runId;
}

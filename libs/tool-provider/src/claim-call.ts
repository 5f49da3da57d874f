import { failuresOf, type ServiceError } from "@switchyard/contracts/errors";
import { callTool } from "@switchyard/contracts/mcp-broker/mcp";
import type { ToolRef } from "@switchyard/contracts/tool-names";
import { callFingerprint } from "./call-fingerprint.ts";
import type { CallOnce, EarlierCall, Turn } from "./call-once.ts";
import type { CallOutcome, CallStore, PickUp } from "./call-store.ts";
import type { Decided } from "./decision-cache.ts";
import { ownCallId } from "./own-call-id.ts";
import type { Requester } from "./policy-gate.ts";

/** Every contract that calls tools declares these alike. */
const { stale_epoch, call_id_conflict, outcome_unknown, cancelled } = callTool.errors;
const fail = failuresOf({ stale_epoch, call_id_conflict, outcome_unknown, cancelled });

/**
 * Claims a call, so that it is made at most once for its id. Resolves with the turn to make it, which is null for a call without an id, or
 * with the outcome of an earlier call. Throws `stale_epoch` for a call of a runner that has lost its run, `call_id_conflict`, `cancelled` and
 * `outcome_unknown`, and `storage_full` where an outcome has no room; rejects with StoreError.
 */
export async function claimCall(
  { store, once }: { readonly store: Pick<CallStore, "admit">; readonly once: CallOnce },
  call: {
    readonly request: { readonly callId?: string | undefined; readonly epoch?: number | undefined };
    readonly ref: ToolRef;
    readonly args: Readonly<Record<string, unknown>>;
  },
  { requester, decided }: { readonly requester: Requester; readonly decided: Decided },
): Promise<{ readonly turn: Turn | null; readonly earlier: CallOutcome | null }> {
  const { request, ref, args } = call;
  const { callId } = request;
  const pickUp = pickUpOf(request, decided);
  if (callId === undefined) {
    if (pickUp !== null && !(await store.admit(pickUp))) throw stale(pickUp);
    return { turn: null, earlier: null };
  }
  const { onBehalfOf: caller, token } = requester;
  const fingerprint = callFingerprint({ caller, principal: decided.principal, ref, args });
  const storedFor = decided.principal.user;
  const identity = { fingerprint, ref, caller, token, storedFor };
  const claimed = await once.claim(ownCallId(caller, callId), identity, pickUp);
  if (claimed.kind === "turn") return { turn: claimed, earlier: null };
  return { turn: null, earlier: outcomeOfEarlier(claimed, { callId, pickUp }) };
}

/**
 * The claim of a run that the call belongs to; null for a call without one. The token names it, unless it is of an older version, and only
 * for its own run. Throws `stale_epoch` for a call that names another claim.
 */
function pickUpOf(
  { epoch: named }: { readonly epoch?: number | undefined },
  { principal: { runId }, epoch = named }: Pick<Decided, "principal" | "epoch">,
): PickUp | null {
  if (epoch === undefined || runId === null) return null;
  if (named !== undefined && named !== epoch) throw stale({ runId, epoch: named });
  return { runId, epoch };
}

/** The outcome of an earlier call; throws `call_id_conflict`, `cancelled`, `stale_epoch` and `outcome_unknown`. */
function outcomeOfEarlier(
  earlier: EarlierCall,
  { callId, pickUp }: { readonly callId: string; readonly pickUp: PickUp | null },
): CallOutcome {
  switch (earlier.kind) {
    case "outcome":
      return earlier.outcome;
    case "conflict":
      throw fail.call_id_conflict(
        `callId ${callId} belongs to another call (other caller, tool or arguments); use a new one.`,
        { callId },
      );
    case "cancelled":
      throw fail.cancelled("The call was cancelled. Nothing was done.", { callId, sent: false });
    case "unknown":
      throw fail.outcome_unknown(
        `An earlier call with callId ${callId} was begun and its result was lost. It may or may not have happened.`,
        { callId },
      );
    case "stale":
      throw stale(pickUp ?? { runId: "", epoch: 0 });
    default:
      return earlier satisfies never;
  }
}

function stale({ runId, epoch }: PickUp): ServiceError {
  return fail.stale_epoch(
    `Another runner has taken run ${runId} over since epoch ${epoch}; the call was not made. Stop working on the run.`,
    { runId, epoch },
  );
}

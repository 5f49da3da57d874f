import { failuresOf, type ServiceError } from "@switchyard/contracts/errors";
import { callTool } from "@switchyard/contracts/mcp";
import { NotSentError, type EarlierCall } from "./call-once.ts";
import { CallStoreError, type CallOutcome, type CallStore, type PickUp } from "./call-store.ts";
import type { Decided } from "./decision-cache.ts";

/** Every contract that calls tools declares these alike. */
const { stale_epoch, call_id_conflict, outcome_unknown, call_store_unavailable, cancelled } =
  callTool.errors;
const fail = failuresOf({
  stale_epoch,
  call_id_conflict,
  outcome_unknown,
  call_store_unavailable,
  cancelled,
});

/**
 * Null for a call that is of no pick-up of a run. The token says of which it is, where it is no older one, and only of its own run. Throws
 * `stale_epoch` for a call that names another.
 */
export function pickUpOf(
  { epoch: named }: { readonly epoch?: number | undefined },
  { principal: { runId }, epoch = named }: Pick<Decided, "principal" | "epoch">,
): PickUp | null {
  if (epoch === undefined || runId === null) return null;
  if (named !== undefined && named !== epoch) throw stale({ runId, epoch: named });
  return { runId, epoch };
}

/** Throws `stale_epoch` for a call of a runner that has lost its run. Rejects with CallStoreError when nobody can say. */
export async function refuseStale(
  store: Pick<CallStore, "admit">,
  pickUp: PickUp | null,
): Promise<void> {
  if (pickUp !== null && !(await store.admit(pickUp))) throw stale(pickUp);
}

/** The outcome of an earlier call; throws `call_id_conflict`, `cancelled`, `stale_epoch` and `outcome_unknown`. */
export function outcomeOfEarlier(
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

/** The error that a caller gets for a failure on the way of a call; anything else stays as it is. */
export function replyOf(error: unknown): unknown {
  if (error instanceof NotSentError) return error.reply;
  return error instanceof CallStoreError ? storeUnavailable(error) : error;
}

function stale({ runId, epoch }: PickUp): ServiceError {
  return fail.stale_epoch(
    `Another runner has taken run ${runId} over since epoch ${epoch}; the call was not made. Stop working on the run.`,
    { runId, epoch },
  );
}

function storeUnavailable({ message }: CallStoreError): ServiceError {
  return fail.call_store_unavailable(
    `A call with a callId cannot be made safely now, and was not made: ${message}; try again when Redis is up.`,
    { cause: message },
  );
}

import { failuresOf, type ServiceError } from "@switchyard/contracts/errors";
import { callTool } from "@switchyard/contracts/mcp";
import type { Principal } from "@switchyard/contracts/policy";
import { NotSentError, type OnceResult } from "./call-once.ts";
import { CallStoreError, type CallOutcome } from "./call-store.ts";
import type { RunEpochs } from "./run-epochs.ts";

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
 * Throws `stale_epoch` for a call of a runner that has lost its run. An epoch is believed only of the
 * run that the token is of. Rejects with CallStoreError when nobody can say.
 */
export async function refuseStale(
  epochs: RunEpochs,
  { epoch }: { readonly epoch?: number | undefined },
  { runId }: Principal,
): Promise<void> {
  if (epoch === undefined || runId === null) return;
  if (await epochs.admit(runId, epoch)) return;
  throw fail.stale_epoch(
    `Another runner has taken run ${runId} over since epoch ${epoch}; the call was not made. Stop working on the run.`,
    { runId, epoch },
  );
}

/** The outcome of a call with an id; throws `call_id_conflict`, `cancelled` and `outcome_unknown`. */
export function knownOutcome(
  result: OnceResult,
  callId: string,
): { readonly outcome: CallOutcome; readonly replayed: boolean } {
  switch (result.kind) {
    case "outcome":
      return { outcome: result.outcome, replayed: result.replayed };
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
    default:
      return result satisfies never;
  }
}

/** What the caller is told of a failure on the way of a call; anything else is thrown on as it is. */
export async function withRefusals<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (error instanceof NotSentError) throw error.reply;
    if (error instanceof CallStoreError) throw storeUnavailable(error);
    throw error;
  }
}

function storeUnavailable({ message }: CallStoreError): ServiceError {
  return fail.call_store_unavailable(
    `A call with a callId cannot be made safely now, and was not made: ${message}; try again when Redis is up.`,
    { cause: message },
  );
}

import type { ServiceError } from "@switchyard/contracts/errors";
import type { CallIdentity, CallOutcome, CallStore, Claim } from "./call-store.ts";

/** How a call with a `callId` ended, or why it was not made. */
export type OnceResult =
  | { readonly kind: "outcome"; readonly outcome: CallOutcome; readonly replayed: boolean }
  /** The id belongs to another call. */
  | { readonly kind: "conflict" }
  /** It was cancelled before it came here. */
  | { readonly kind: "cancelled" }
  /** An earlier call was sent and its outcome is lost. */
  | { readonly kind: "unknown" };

/** The call was provably not sent; `reply` says why. Anything else that a call throws leaves its outcome unknown. */
export class NotSentError extends Error {
  override readonly name = "NotSentError";
  readonly reply: ServiceError;

  constructor(reply: ServiceError) {
    super(reply.message, { cause: reply });
    this.reply = reply;
  }
}

export interface CallOnce {
  /**
   * Runs a call at most once for its id: a repeat joins the running call or gets the stored
   * outcome. Rejects with what `execute` throws, or with CallStoreError before anything was sent.
   */
  run(callId: string, call: CallIdentity, execute: () => Promise<CallOutcome>): Promise<OnceResult>;
}

/** Joins calls in work of this process; those of others it sees in the store. */
export function createCallOnce(options: {
  store: CallStore;
  /** The outcome is known but could not be kept yet: until it is, only this process can tell it to a repeat. */
  onNotStored: (error: unknown) => void;
}): CallOnce {
  const running = new Map<string, { fingerprint: string; result: Promise<OnceResult> }>();
  return {
    async run(callId, call, execute) {
      const earlier = running.get(callId);
      if (earlier !== undefined) {
        return earlier.fingerprint === call.fingerprint
          ? asReplayed(await earlier.result)
          : { kind: "conflict" };
      }
      // Entered before the first await, so that a repeat in the same tick finds it.
      const result = claimAndRun({ ...options, callId, call, execute });
      running.set(callId, { fingerprint: call.fingerprint, result });
      try {
        return await result;
      } finally {
        running.delete(callId);
      }
    },
  };
}

async function claimAndRun(options: {
  store: CallStore;
  onNotStored: (error: unknown) => void;
  callId: string;
  call: CallIdentity;
  execute: () => Promise<CallOutcome>;
}): Promise<OnceResult> {
  const { store, onNotStored, callId, call, execute } = options;
  const claim = await store.claim(callId, call);
  if (claim.state === "cancelled") return { kind: "cancelled" };
  if (claim.state !== "new") {
    if (claim.fingerprint !== call.fingerprint) return { kind: "conflict" };
    return claim.state === "done"
      ? { kind: "outcome", outcome: claim.outcome, replayed: true }
      : { kind: "unknown" };
  }
  const outcome = await executeOrRelease(claim, execute, onNotStored);
  await claim.finish(outcome).catch(onNotStored);
  return { kind: "outcome", outcome, replayed: false };
}

async function executeOrRelease(
  claim: Claim,
  execute: () => Promise<CallOutcome>,
  onNotStored: (error: unknown) => void,
): Promise<CallOutcome> {
  try {
    return await execute();
  } catch (error) {
    if (error instanceof NotSentError) await claim.release().catch(onNotStored);
    throw error;
  }
}

function asReplayed(result: OnceResult): OnceResult {
  return result.kind === "outcome" ? { ...result, replayed: true } : result;
}

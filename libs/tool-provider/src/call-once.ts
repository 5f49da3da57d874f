import type { ServiceError } from "@switchyard/contracts/errors";
import type { CallIdentity, CallOutcome, CallStore, Claim, PickUp } from "./call-store.ts";

/** The result of an earlier call with the same `callId`, or the reason why the call may not be made. */
export type EarlierCall =
  | { readonly kind: "outcome"; readonly outcome: CallOutcome }
  /** The id belongs to another call. */
  | { readonly kind: "conflict" }
  /** It was cancelled before it came here. */
  | { readonly kind: "cancelled" }
  /** An earlier call was sent and its outcome is lost. */
  | { readonly kind: "unknown" }
  /** Another runner has taken the run over. */
  | { readonly kind: "stale" };

/** The right to make a call, which is in progress from now on. Exactly one of the two ends it. */
export interface Turn {
  readonly kind: "turn";
  /** Stores the outcome for repeats. */
  finish(outcome: CallOutcome): Promise<void>;
  /** After a NotSentError the id is free again; after anything else the outcome is unknown. */
  fail(error: unknown): Promise<void>;
}

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
   * Claims a call, so that it is made at most once for its id: a repeat waits for the call in progress or gets its stored outcome. Rejects
   * with the error of the call in progress, or with StoreError before anything was sent.
   */
  claim(callId: string, call: CallIdentity, pickUp?: PickUp | null): Promise<Turn | EarlierCall>;
}

/** Joins calls in progress of this process; those of other processes are found in the store. */
export function createCallOnce(options: {
  store: CallStore;
  /** The outcome could not be stored yet: until it is, only this process can return it to a repeat. */
  onNotStored: (error: unknown) => void;
}): CallOnce {
  const { store, onNotStored } = options;
  const working = new Map<string, { fingerprint: string; end: Promise<EarlierCall> }>();

  const begin = (claim: Claim, over: (end: Promise<EarlierCall>) => void): Turn => ({
    kind: "turn",
    async finish(outcome) {
      await claim.finish(outcome).catch(onNotStored);
      over(Promise.resolve({ kind: "outcome", outcome }));
    },
    async fail(reason) {
      if (reason instanceof NotSentError) await claim.release().catch(onNotStored);
      over(Promise.reject(reason));
    },
  });

  const once: CallOnce = {
    async claim(callId, call, pickUp = null) {
      const { fingerprint } = call;
      const inWork = working.get(callId);
      if (inWork !== undefined) {
        if (pickUp !== null && !(await store.admit(pickUp))) return { kind: "stale" };
        if (inWork.fingerprint !== fingerprint) return { kind: "conflict" };
        const earlier = await inWork.end;
        // The refusal was for an older pick-up of the run than this one.
        return earlier.kind === "stale" ? once.claim(callId, call, pickUp) : earlier;
      }
      // Entered before the first await, so that a repeat in the same tick finds it.
      const { promise: end, resolve } = Promise.withResolvers<EarlierCall>();
      end.catch(() => undefined); // the caller that makes the call handles it
      working.set(callId, { fingerprint, end });
      const over = (ended: Promise<EarlierCall>): void => {
        working.delete(callId);
        resolve(ended);
      };
      try {
        const claim = await store.claim(callId, call, pickUp);
        if (claim.state === "new") return begin(claim, over);
        over(Promise.resolve(earlierCall(claim, fingerprint)));
      } catch (error) {
        over(Promise.reject(error));
      }
      return end;
    },
  };
  return once;
}

function earlierCall(
  found: Exclude<Awaited<ReturnType<CallStore["claim"]>>, Claim>,
  fingerprint: string,
): EarlierCall {
  if (found.state === "stale" || found.state === "cancelled") return { kind: found.state };
  if (found.fingerprint !== fingerprint) return { kind: "conflict" };
  return found.state === "done" ? { kind: "outcome", outcome: found.outcome } : { kind: "unknown" };
}

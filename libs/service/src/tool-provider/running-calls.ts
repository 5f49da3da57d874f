import type { Principal } from "@switchyard/contracts/policy";
import type { ToolRef } from "@switchyard/contracts/tool-names";

/** What tells who may cancel a call. */
export interface CallOwner {
  /** As {@link ownCallId} makes it. */
  readonly callId: string;
  readonly caller: string;
  readonly principal: Principal;
  /** As the call carried it. */
  readonly token: string | undefined;
  readonly ref: ToolRef;
}

/** A call in work. */
export interface RunningCall extends CallOwner {
  /** Aborts when the call is cancelled, and with the caller's own signal. */
  readonly signal: AbortSignal;
  readonly isCancelled: boolean;
  cancel(): void;
  /** To be called when the call is over, whatever its end. */
  end(): void;
}

/** The calls with a `callId` that this process has in work; there is never more than one of an id. */
export interface RunningCalls {
  begin(owner: CallOwner, callerSignal: AbortSignal): RunningCall;
  find(callId: string): RunningCall | null;
}

/** The server is told this text. */
const CANCELLED = "the caller cancelled the call";

/** Knows this process alone; `cancelCall` finds the calls of others. */
export function createRunningCalls(): RunningCalls {
  const running = new Map<string, RunningCall>();
  return {
    begin(owner, callerSignal) {
      const call = beginCall(owner, callerSignal, () => {
        if (running.get(owner.callId) === call) running.delete(owner.callId);
      });
      running.set(owner.callId, call);
      return call;
    },
    find: (callId) => running.get(callId) ?? null,
  };
}

function beginCall(owner: CallOwner, callerSignal: AbortSignal, forget: () => void): RunningCall {
  const controller = new AbortController();
  let isCancelled = false;
  // Not AbortSignal.any: its bookkeeping costs more than the whole of a cheap call.
  const giveUp = (): void => controller.abort(callerSignal.reason);
  if (callerSignal.aborted) giveUp();
  else callerSignal.addEventListener("abort", giveUp, { once: true });
  return {
    ...owner,
    signal: controller.signal,
    get isCancelled() {
      return isCancelled;
    },
    cancel() {
      if (controller.signal.aborted) return;
      isCancelled = true;
      controller.abort(CANCELLED);
    },
    end() {
      callerSignal.removeEventListener("abort", giveUp);
      forget();
    },
  };
}

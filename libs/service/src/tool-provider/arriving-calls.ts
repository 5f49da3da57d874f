/** A call with a `callId` that waits for its server or its decision; nothing of it was sent yet. */
export interface ArrivingCall {
  readonly callId: string;
  readonly caller: string;
  /** As the call carried it. */
  readonly token: string | undefined;
  /** Null for a provider without servers. */
  readonly server: string | null;
}

/** A cancellation may be here before the call is in work: without these it would find nothing, and the call be made. */
export interface ArrivingCalls {
  begin(call: ArrivingCall): void;
  /** To be called when it is in work, or over. */
  end(call: ArrivingCall): void;
  /** Repeats of a call arrive under the same id. */
  find(callId: string): readonly ArrivingCall[];
  /** Has no effect on a call that has ended to arrive; false then. */
  cancel(call: ArrivingCall): boolean;
  isCancelled(call: ArrivingCall): boolean;
}

/** Knows this process alone. */
export function createArrivingCalls(): ArrivingCalls {
  const arriving = new Set<ArrivingCall>();
  const cancelled = new WeakSet<ArrivingCall>();
  return {
    begin: (call) => void arriving.add(call),
    end: (call) => void arriving.delete(call),
    find: (callId) => [...arriving].filter((call) => call.callId === callId),
    cancel(call) {
      if (!arriving.has(call)) return false;
      cancelled.add(call);
      return true;
    },
    isCancelled: (call) => cancelled.has(call),
  };
}

/** Lets a call be cancelled from its first moment on. One without an id nobody can name: it has no part in it. */
export async function whileArriving<T>(
  calls: ArrivingCalls,
  call: Omit<ArrivingCall, "callId"> & { readonly callId: string | undefined },
  work: (arriving: ArrivingCall | null) => Promise<T>,
): Promise<T> {
  const { callId, ...rest } = call;
  if (callId === undefined) return work(null);
  const arriving: ArrivingCall = { callId, ...rest };
  calls.begin(arriving);
  try {
    return await work(arriving);
  } finally {
    calls.end(arriving);
  }
}

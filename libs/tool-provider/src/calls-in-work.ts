import { client } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { follow } from "@switchyard/bus/follow";
import { startRounds } from "@switchyard/service/rounds";
import {
  callsStopped,
  listStops,
  releaseCall,
  type Stop,
} from "@switchyard/contracts/policy/policy-budgets";
import { CallInWork, type ArrivedCall } from "./call-in-work.ts";

/**
 * The requests of this process, from their first moment on. An administrator's stop of their agent, run, user, server or token key ends
 * them, and reservations of the policy for them are released when they are over.
 */
export interface CallsInWork {
  /** The code that begins a call also ends it. */
  begin(call: ArrivedCall): CallInWork;
  /** All calls with this `callId`, of any caller; several when a call is repeated. */
  find(callId: string): readonly CallInWork[];
  stop(): void;
}

/** A lost event is compensated within this time. */
const LOOK_MS = 400;
const LOOK_TIMEOUT_MS = 1_000;

/** Subscribes to stops from now on, so make one before the first call. */
export function createCallsInWork(bus: Bus): CallsInWork {
  const policy = client(bus, { listStops, releaseCall });
  const calls = new Set<CallInWork>();

  const apply = (stop: Stop): void => {
    for (const call of calls) call.stopIf(stop);
  };
  // With nothing in progress there is nothing to end, and the policy is not called.
  const look = async (): Promise<void> => {
    if (![...calls].some(({ work }) => work !== null)) return;
    const { stops } = await policy.listStops({}, { timeoutMs: LOOK_TIMEOUT_MS });
    stops.forEach(apply);
  };
  const following = follow(bus, callsStopped, apply);
  const rounds = startRounds({
    everyMs: LOOK_MS,
    round: look,
    onError: () => undefined, // While the policy is away it lets no new call pass; the next look is soon.
  });
  const release = async (reserved: readonly string[], isMade: boolean): Promise<void> => {
    // A reservation that cannot be released expires, so the error is not reported.
    const releasing = reserved.map((reservation) =>
      policy.releaseCall({ reservation, ...(isMade ? {} : { isMade }) }).catch(() => undefined),
    );
    await Promise.all(releasing);
  };
  const end = (call: CallInWork, reserved: readonly string[], isMade: boolean): void => {
    calls.delete(call);
    void release(reserved, isMade);
  };

  return {
    begin(arrived) {
      const call = new CallInWork(arrived, end, release);
      calls.add(call);
      return call;
    },
    find: (callId) => [...calls].filter((call) => call.callId === callId),
    stop() {
      void rounds.stop();
      following.stop();
    },
  };
}

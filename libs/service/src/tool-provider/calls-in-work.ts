import { client } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/connect";
import { follow } from "@switchyard/bus/follow";
import {
  callsStopped,
  listStops,
  releaseCall,
  type Stop,
} from "@switchyard/contracts/policy-budgets";
import { CallInWork, type ArrivedCall } from "./call-in-work.ts";

/**
 * The requests that this process has, from their first moment on. An administrator's stop of their agent, run, user,
 * server or token key ends them, and what the policy reserved for them is given back when they are over.
 */
export interface CallsInWork {
  /** Whoever begins a call ends it. */
  begin(call: ArrivedCall): CallInWork;
  /** Those with this `callId`, whoever's they are; several when a call is repeated. */
  find(callId: string): readonly CallInWork[];
  stop(): void;
}

/** An event that was lost is made up for within this time. */
const LOOK_MS = 400;
const LOOK_TIMEOUT_MS = 1_000;

/** Listens for stops from now on, so make one before the first call. */
export function createCallsInWork(bus: Bus): CallsInWork {
  const policy = client(bus, { listStops, releaseCall });
  const calls = new Set<CallInWork>();
  let isLooking = false;

  const apply = (stop: Stop): void => {
    for (const call of calls) call.stopIf(stop);
  };
  // With nothing in work there is nothing to end, and nobody is asked.
  const look = async (): Promise<void> => {
    if (isLooking || ![...calls].some(({ work }) => work !== null)) return;
    isLooking = true;
    try {
      const { stops } = await policy.listStops({}, { timeoutMs: LOOK_TIMEOUT_MS });
      stops.forEach(apply);
    } catch {
      // While the policy is away no new call is let pass; the next look is soon.
    } finally {
      isLooking = false;
    }
  };
  const following = follow(bus, callsStopped, apply);
  const timer = setInterval(() => void look(), LOOK_MS);
  const end = (call: CallInWork, reserved: readonly string[]): void => {
    calls.delete(call);
    // What cannot be given back lapses by itself, so nobody waits for it and no error is told.
    for (const reservation of reserved) policy.releaseCall({ reservation }).catch(() => undefined);
  };

  return {
    begin(arrived) {
      const call = new CallInWork(arrived, end);
      calls.add(call);
      return call;
    },
    find: (callId) => [...calls].filter((call) => call.callId === callId),
    stop() {
      clearInterval(timer);
      following.stop();
    },
  };
}

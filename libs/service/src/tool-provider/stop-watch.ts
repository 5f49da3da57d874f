import { client } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/connect";
import { follow } from "@switchyard/bus/follow";
import { Roster } from "@switchyard/bus/roster";
import { failuresOf } from "@switchyard/contracts/errors";
import { callTool } from "@switchyard/contracts/mcp";
import type { Principal } from "@switchyard/contracts/policy";
import {
  callsStopped,
  listStops,
  type Stop,
  type StopScope,
} from "@switchyard/contracts/policy-budgets";
import type { ToolRef } from "@switchyard/contracts/tool-names";
import { NotSentError } from "./call-once.ts";
import { keyIdOf } from "../run-token.ts";

/** What a stop can be about. */
export interface StoppableCall {
  readonly principal: Principal;
  readonly ref: ToolRef;
  readonly token: string | undefined;
}

/**
 * Ends calls in work when an administrator stops their agent, run, user, server or token key. New calls need
 * no watch: the policy denies them, and no decision is kept for longer than half a second.
 */
export interface StopWatch {
  /**
   * Does the work under a signal that also aborts at a stop. Then it rejects with `stopped`, unless
   * the call was provably not sent.
   */
  during<T>(
    call: StoppableCall,
    signal: AbortSignal,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T>;
  stop(): void;
}

/** An event that was lost is made up for within this time. */
const LOOK_MS = 400;
const LOOK_TIMEOUT_MS = 1_000;

const fail = failuresOf(callTool.errors);

/** Listens from now on, so make one before the first call. */
export function createStopWatch(bus: Bus): StopWatch {
  const policy = client(bus, { listStops });
  const working = new Roster<Working>();
  let isLooking = false;

  const apply = (stop: Stop): void => {
    for (const one of working.values()) if (isAbout(stop.scope, one.call)) one.end(stop);
  };
  // With nothing in work there is nothing to end, and nobody is asked.
  const look = async (): Promise<void> => {
    if (working.size === 0 || isLooking) return;
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

  return {
    async during(call, signal, work) {
      const one = begin(call, signal);
      const seat = working.add(one);
      try {
        return await work(one.signal);
      } catch (error) {
        if (one.stoppedBy === null || error instanceof NotSentError) throw error;
        throw stopped(one.stoppedBy);
      } finally {
        working.remove(seat);
        one.release();
      }
    },
    stop() {
      clearInterval(timer);
      following.stop();
    },
  };
}

/** True when a stop is about a call. */
export function isAbout(scope: StopScope, { principal, ref, token }: StoppableCall): boolean {
  const { user, agent, runId, context } = principal;
  switch (scope.kind) {
    case "all":
      return true;
    case "agent":
      return agent === scope.name;
    case "run":
      return [runId, context?.parent, context?.root].includes(scope.name);
    case "server":
      return ref.server === scope.name;
    case "user":
      return user === scope.name;
    case "key":
      return token !== undefined && keyIdOf(token) === scope.name;
    default:
      return scope satisfies never;
  }
}

interface Working {
  readonly call: StoppableCall;
  readonly signal: AbortSignal;
  readonly stoppedBy: Stop | null;
  end(stop: Stop): void;
  release(): void;
}

function begin(call: StoppableCall, outer: AbortSignal): Working {
  const controller = new AbortController();
  let stoppedBy: Stop | null = null;
  const giveUp = (): void => controller.abort(outer.reason);
  if (outer.aborted) giveUp();
  else outer.addEventListener("abort", giveUp, { once: true });
  return {
    call,
    signal: controller.signal,
    get stoppedBy() {
      return stoppedBy;
    },
    end(stop) {
      if (controller.signal.aborted) return;
      stoppedBy = stop;
      controller.abort("an administrator stopped such calls");
    },
    release: () => outer.removeEventListener("abort", giveUp),
  };
}

function stopped({ scope, reason }: Stop) {
  const what = scope.kind === "all" ? "all calls" : `calls of ${scope.kind} ${scope.name}`;
  return fail.stopped(
    `An administrator stopped ${what} while this one was in work: ${reason}. It may have had its effect.`,
    { scope },
  );
}

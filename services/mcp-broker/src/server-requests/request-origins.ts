import { AsyncLocalStorage } from "node:async_hooks";
import { Roster } from "@switchyard/bus/roster";
import type { ServerConfig } from "@switchyard/project/mcp-servers/server-config";
import type { CallClock } from "../limits/call-clock.ts";
import type { Principal } from "@switchyard/contracts/policy/policy";
import type { PolicyGate, Requester } from "@switchyard/tool-provider/policy-gate";

/** A request that a server works on, with its requester. */
export interface RequestOrigin {
  readonly requester: Requester;
  readonly isOver: boolean;
  /** Calls back when the request has ended, at once when it has already. */
  onEnd(callback: () => void): void;
  /** Pauses its time limit until the returned function is called: a person answers a question for it. */
  pause(): () => void;
}

/** The requester of a request, and its time limit. */
export interface RequestBy {
  readonly requester: Requester;
  readonly clock: CallClock;
}

export type RequestOrigins = ReturnType<typeof createRequestOrigins>;

/**
 * Records on whose behalf each server works, so that the requests that it sends back are decided for those principals. Over HTTP
 * a server's question comes in the answer to a request, so its origin is certain. Over stdio nothing shows which request it
 * belongs to, and every request in work counts. The key of a server is its configuration object, of which each instance of a run
 * or a session has one of its own.
 */
export function createRequestOrigins() {
  const active = new WeakMap<ServerConfig, Roster<RequestOrigin>>();
  const current = new AsyncLocalStorage<{ server: ServerConfig; origin: RequestOrigin }>();
  const rosterOf = (server: ServerConfig): Roster<RequestOrigin> => {
    const known = active.get(server);
    if (known !== undefined) return known;
    const roster = new Roster<RequestOrigin>();
    active.set(server, roster);
    return roster;
  };
  return {
    async during<T>(server: ServerConfig, by: RequestBy, work: () => Promise<T>): Promise<T> {
      const { origin, end } = beginOrigin(by);
      const ofServer = rosterOf(server);
      const seat = ofServer.add(origin);
      try {
        return await current.run({ server, origin }, work);
      } finally {
        ofServer.remove(seat);
        end();
      }
    },
    /** The origins of a request that a server sends now; none when it works on nothing. */
    of(server: ServerConfig): readonly RequestOrigin[] {
      const own = current.getStore();
      if (own?.server === server && !own.origin.isOver) return [own.origin];
      return active.get(server)?.values() ?? [];
    },
  };
}

/** One for each requester: several calls of one run are one request to the policy. */
export function distinctRequesters(origins: readonly RequestOrigin[]): Requester[] {
  const byKey = new Map<string, Requester>();
  for (const { requester } of origins) {
    const key = `${requester.onBehalfOf}\0${requester.token ?? ""}`;
    if (!byKey.has(key)) byKey.set(key, requester);
  }
  return [...byKey.values()];
}

/** The principals for whom a server may do what it requests, when the policy allows it to each of them; else null. */
export async function allowedPrincipals(
  gate: PolicyGate,
  question: Parameters<PolicyGate["check"]>[0],
  requesters: readonly Requester[],
): Promise<Principal[] | null> {
  const answers = await Promise.all(
    requesters.map((requester) => gate.check(question, requester).catch(() => null)),
  );
  const allowed = answers.flatMap((answer) =>
    answer?.decision.effect === "allow" ? [answer.principal] : [],
  );
  return allowed.length === answers.length ? allowed : null;
}

/** Not an AbortController: every tool call has an origin, and hardly any needs its end. */
function beginOrigin({ requester, clock }: RequestBy): { origin: RequestOrigin; end: () => void } {
  const callbacks: (() => void)[] = [];
  let isOver = false;
  const origin: RequestOrigin = {
    requester,
    get isOver() {
      return isOver;
    },
    onEnd(callback) {
      if (isOver) callback();
      else callbacks.push(callback);
    },
    pause: () => clock.pause(),
  };
  const end = (): void => {
    isOver = true;
    for (const callback of callbacks) callback();
  };
  return { origin, end };
}

import { isAdmin } from "@switchyard/contracts/user-roles";
import type { Handler } from "@switchyard/bus/handler";
import { failuresOf } from "@switchyard/contracts/errors";
import {
  type listStops,
  MAX_STOPS,
  type resumeCalls,
  stopCalls,
  type Stop,
  type StopScope,
} from "@switchyard/contracts/policy/policy-budgets";
import { fullRunId, ownerOfRun } from "@switchyard/contracts/ids";
import { serviceUsers } from "@switchyard/topology/topology";
import { storeFailureAs } from "@switchyard/service/store-error";
import { checkAdmin } from "../check-admin.ts";
import { type StopList } from "./stop-list.ts";

export interface StopHandlers {
  readonly stop: Handler<typeof stopCalls>;
  readonly resume: Handler<typeof resumeCalls>;
  readonly stops: Handler<typeof listStops>;
}

const fail = failuresOf(stopCalls.errors);

/** Services end the calls in progress, of every user. */
const SERVICES: ReadonlySet<string> = new Set(serviceUsers.map(({ name }) => name));

export function createStopHandlers(parts: {
  readonly stops: StopList;
  readonly admins: readonly string[];
  /** Resolves when every replica has applied the stop, no earlier decision is cached anywhere, and no approval of such a call is pending. */
  readonly everywhere: (stop: Stop) => Promise<unknown>;
  readonly onStopped: (stop: Stop) => void;
  readonly onResumed: (facts: { scope: StopScope; by: string; at: string }) => void;
  readonly now: () => number;
}): StopHandlers {
  const { stops, admins, everywhere, onStopped, onResumed, now } = parts;
  const at = () => new Date(now()).toISOString();
  return {
    stop: ({ scope: named, reason }, context) =>
      orUnavailable(async () => {
        const { caller } = context;
        checkAdmin(admins, context);
        const scope = wholeScope(named, caller);
        const stop = await stops.add({ scope, reason, by: caller, at: at() });
        if (stop === null)
          throw fail.too_many(`there are ${MAX_STOPS} stops; end some, or stop everything`, {
            limit: MAX_STOPS,
          });
        // Providers end the calls in progress at once.
        onStopped(stop);
        await everywhere(stop);
        return { stop };
      }),
    resume: ({ scope: named }, context) =>
      orUnavailable(async () => {
        const { caller } = context;
        checkAdmin(admins, context);
        const scope = wholeScope(named, caller);
        const resumed = await stops.remove(scope);
        if (resumed) onResumed({ scope, by: caller, at: at() });
        return { resumed };
      }),
    async stops(_request, { caller, roles }) {
      const { all } = stops;
      const seesAll = isAdmin(admins, { caller, roles });
      if (SERVICES.has(caller) || seesAll) return { stops: [...all] };
      return { stops: all.filter(({ scope }) => concerns(scope, caller)) };
    },
  };
}

/** Completes the id of a run: a caller may omit its own name. */
function wholeScope(scope: StopScope, caller: string): StopScope {
  return scope.kind === "run" ? { ...scope, name: fullRunId(caller, scope.name) } : scope;
}

/** A caller may not see a stop of another user or its runs; every other stop could concern its own calls, too. */
function concerns(scope: StopScope, caller: string): boolean {
  if (scope.kind === "user") return scope.name === caller;
  return scope.kind !== "run" || ownerOfRun(scope.name) === caller;
}

const orUnavailable = storeFailureAs(({ message, name }) =>
  fail.store_unavailable(`${message}, so it is not known whether it is in force; try again`, {
    cause: name,
  }),
);

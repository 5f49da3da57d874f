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
import type { RunRecords } from "../runs/run-records.ts";
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
  readonly runs: RunRecords;
  /** Resolves when every replica has applied the stop, no earlier decision is cached anywhere, and no approval of such a call is pending. */
  readonly everywhere: (stop: Stop) => Promise<unknown>;
  readonly onStopped: (stop: Stop) => void;
  readonly onResumed: (facts: { scope: StopScope; by: string; at: string }) => void;
  readonly now: () => number;
}): StopHandlers {
  const { stops, admins, runs, everywhere, onStopped, onResumed, now } = parts;
  const at = () => new Date(now()).toISOString();
  return {
    stop: ({ scope: named, reason }, context) =>
      orUnavailable(async () => {
        const { caller } = context;
        checkAdmin(admins, context);
        const [scope = named] = await wholeScopes(runs, named, caller);
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
        for (const scope of await wholeScopes(runs, named, caller)) {
          if (!(await stops.remove(scope))) continue;
          onResumed({ scope, by: caller, at: at() });
          return { resumed: true };
        }
        return { resumed: false };
      }),
    async stops(_request, { caller, roles }) {
      const { all } = stops;
      const seesAll = isAdmin(admins, { caller, roles });
      if (SERVICES.has(caller) || seesAll) return { stops: [...all] };
      const isShown = await Promise.all(all.map(({ scope }) => concerns(runs, scope, caller)));
      return { stops: all.filter((_stop, index) => isShown[index]) };
    },
  };
}

/**
 * Returns the scopes under which a stop may be stored, the likeliest first. A caller may omit its own name from the id of its own
 * run; a run of a version before 0.2 has no owner in its id, and expires some time after its end, when its stop may still exist.
 */
async function wholeScopes(
  runs: RunRecords,
  scope: StopScope,
  caller: string,
): Promise<readonly StopScope[]> {
  if (scope.kind !== "run" || ownerOfRun(scope.name) !== null) return [scope];
  const own = { ...scope, name: fullRunId(caller, scope.name) };
  const isOld = (await runs.requesterOf(scope.name)) !== null;
  return isOld ? [scope, own] : [own, scope];
}

/** A caller may not see a stop of another user or its runs; every other stop could concern its own calls, too. */
async function concerns(runs: RunRecords, scope: StopScope, caller: string): Promise<boolean> {
  if (scope.kind === "user") return scope.name === caller;
  if (scope.kind !== "run") return true;
  const owner = ownerOfRun(scope.name) ?? (await runs.requesterOf(scope.name).catch(() => null));
  return owner === caller;
}

const orUnavailable = storeFailureAs(({ message, name }) =>
  fail.store_unavailable(`${message}, so it is not known whether it is in force; try again`, {
    cause: name,
  }),
);

import type { Handler } from "@switchyard/bus/serve";
import { failuresOf } from "@switchyard/contracts/errors";
import {
  type listStops,
  MAX_STOPS,
  type resumeCalls,
  stopCalls,
  type Stop,
  type StopScope,
} from "@switchyard/contracts/policy-budgets";
import { fullRunId } from "@switchyard/contracts/ids";
import { checkAdmin } from "../bundle/version-handlers.ts";
import { StopStoreError, type StopList } from "./stop-list.ts";

export interface StopHandlers {
  readonly stop: Handler<typeof stopCalls>;
  readonly resume: Handler<typeof resumeCalls>;
  readonly stops: Handler<typeof listStops>;
}

const fail = failuresOf(stopCalls.errors);

export function createStopHandlers(parts: {
  readonly stops: StopList;
  readonly admins: readonly string[];
  /** Resolves when every replica has seen the stop, no decision from before is kept anywhere, and nobody is asked any more. */
  readonly everywhere: (stop: Stop) => Promise<unknown>;
  readonly onStopped: (stop: Stop) => void;
  readonly onResumed: (facts: { scope: StopScope; by: string; at: string }) => void;
  readonly now: () => number;
}): StopHandlers {
  const { stops, admins, everywhere, onStopped, onResumed, now } = parts;
  const at = () => new Date(now()).toISOString();
  return {
    stop: ({ scope: named, reason }, { caller }) =>
      orUnavailable(async () => {
        checkAdmin(admins, caller);
        const scope = wholeScope(named, caller);
        const stop = await stops.add({ scope, reason, by: caller, at: at() });
        if (stop === null)
          throw fail.too_many(`there are ${MAX_STOPS} stops; end some, or stop everything`, {
            limit: MAX_STOPS,
          });
        // Providers end what is in work at once.
        onStopped(stop);
        await everywhere(stop);
        return { stop };
      }),
    resume: ({ scope: named }, { caller }) =>
      orUnavailable(async () => {
        checkAdmin(admins, caller);
        const scope = wholeScope(named, caller);
        const resumed = await stops.remove(scope);
        if (resumed) onResumed({ scope, by: caller, at: at() });
        return { resumed };
      }),
    stops: () => ({ stops: [...stops.all] }),
  };
}

/** Whoever speaks of its own run may leave its own name out. */
function wholeScope(scope: StopScope, caller: string): StopScope {
  return scope.kind === "run" ? { ...scope, name: fullRunId(caller, scope.name) } : scope;
}

async function orUnavailable<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof StopStoreError)) throw error;
    throw fail.store_unavailable(
      `${error.message}, so it is not known whether it is in force; try again`,
      { cause: error.name },
    );
  }
}

import type { Principal } from "@switchyard/contracts/policy";
import { MAX_STOPS, Stop, type StopScope } from "@switchyard/contracts/policy-budgets";
import type { ToolRef } from "@switchyard/contracts/tool-names";
import type { Redis } from "@switchyard/service/redis";

/** Redis did not answer. */
export class StopStoreError extends Error {
  override readonly name = "StopStoreError";
}

/**
 * What is stopped, shared by all replicas through Redis. Decisions look at the copy in memory,
 * which `refresh` renews several times a second; when Redis does not answer, what was known stays.
 */
export interface StopList {
  readonly all: readonly Stop[];
  /** The stop that keeps a call out, or null. */
  find(call: { readonly principal: Principal; readonly tool: ToolRef }): Stop | null;
  refresh(): Promise<void>;
  /** Null when there are too many. */
  add(stop: Stop): Promise<Stop | null>;
  /** False when there was none. */
  remove(scope: StopScope): Promise<boolean>;
}

const KEY = "yard:policy:{stops}";

/** KEYS: the hash. ARGV: field, stop, how many there may be. */
const ADD = `
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 and redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[3]) then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return 1
`;

export function createStopList(redis: Redis): StopList {
  let stops: ReadonlyMap<string, Stop> = new Map();
  const refresh = async (): Promise<void> => {
    const stored = await asked(() => redis.hgetall(KEY));
    stops = new Map(
      Object.entries(stored).map(([field, text]) => [field, Stop.parse(JSON.parse(text))]),
    );
  };
  return {
    get all() {
      return [...stops.values()];
    },
    find({ principal, tool }) {
      if (stops.size === 0) return null;
      const { user, agent, runId, context } = principal;
      const fields = [
        "all",
        `user:${user}`,
        ...(agent === null ? [] : [`agent:${agent}`]),
        ...(runId === null ? [] : [`run:${runId}`]),
        ...(context?.parent === undefined ? [] : [`run:${context.parent}`]),
        ...(context?.root === undefined ? [] : [`run:${context.root}`]),
        ...(tool.server === null ? [] : [`server:${tool.server}`]),
      ];
      for (const field of fields) {
        const stop = stops.get(field);
        if (stop !== undefined) return stop;
      }
      return null;
    },
    refresh,
    async add(stop) {
      const args = [fieldOf(stop.scope), JSON.stringify(stop), String(MAX_STOPS)];
      const added = await asked(() => redis.eval(ADD, 1, KEY, ...args));
      await refresh();
      return added === 1 ? stop : null;
    },
    async remove(scope) {
      const removed = await asked(() => redis.hdel(KEY, fieldOf(scope)));
      await refresh();
      return removed === 1;
    },
  };
}

/** What is told to who is denied because of it. */
export function stopReason({ scope, reason }: Stop): string {
  return `${scopeText(scope)} stopped by an administrator: ${reason}`;
}

function scopeText(scope: StopScope): string {
  return scope.kind === "all" ? "all calls are" : `calls of ${scope.kind} ${scope.name} are`;
}

function fieldOf(scope: StopScope): string {
  return scope.kind === "all" ? "all" : `${scope.kind}:${scope.name}`;
}

async function asked<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    throw new StopStoreError("Redis did not take the stop list of the policy", { cause: error });
  }
}

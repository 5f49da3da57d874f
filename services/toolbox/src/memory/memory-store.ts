import { MAX_MEMORIES } from "@switchyard/contracts/toolbox/agent-memory";
import type { Principal } from "@switchyard/contracts/policy/policy";
import type { Holding, OwnerStorage } from "@switchyard/service/owner-storage";
import type { Redis } from "@switchyard/service/redis";
import { fromRedis } from "@switchyard/service/store-error";
import type { MemoryScope } from "../tool.ts";

/** The memories of agents across runs: text under a name, one set for each owner and agent. */
export interface MemoryStore {
  names(scope: MemoryScope): Promise<string[]>;
  read(scope: MemoryScope, name: string): Promise<string | null>;
  /** Returns false, and writes nothing, when a new name would exceed the limit. Rejects with `storage_full` when its owner stores too much. */
  write(scope: MemoryScope, name: string, text: string): Promise<boolean>;
  /** Returns false when the name did not exist. */
  forget(scope: MemoryScope, name: string): Promise<boolean>;
}

export const MAX_NAMES = MAX_MEMORIES;

/** Estimates a name and the overhead of Redis. */
const NAME_BYTES = 64;

const SIZE = `
local function size()
  local names = redis.call("HKEYS", KEYS[1])
  local bytes = 0
  for _, name in ipairs(names) do bytes = bytes + #name + redis.call("HSTRLEN", KEYS[1], name) + ${NAME_BYTES} end
  return bytes
end
`;

/**
 * Returns the new size of the memory, or -1. The limit and the write are one step, so that concurrent calls cannot exceed the
 * limit together.
 */
const WRITE = `${SIZE}
if redis.call("HEXISTS", KEYS[1], ARGV[1]) == 0 and redis.call("HLEN", KEYS[1]) >= tonumber(ARGV[3]) then
  return -1
end
redis.call("HSET", KEYS[1], ARGV[1], ARGV[2])
return size()
`;

/** Returns the new size of the memory, or -1 when the name did not exist. */
const FORGET = `${SIZE}
if redis.call("HDEL", KEYS[1], ARGV[1]) == 0 then return -1 end
return size()
`;

/** Returns the memory of the principal, by its run token; null for a call without a run. */
export function memoryOf({ agent, user, context }: Principal): MemoryScope | null {
  if (agent === null) return null;
  return { agent, owner: context?.sharesMemory === true ? null : user };
}

export interface MemoryStoreOptions {
  /** Counts the storage of owners' agents; left out: not counted. */
  readonly storage?: Pick<OwnerStorage, "admit" | "set"> | undefined;
  /** Called for an agent whose shared memory has content that a run without the right to share is not given. */
  readonly onUnread?: (agent: string) => void;
}

const THING = "memory:";

export function createMemoryStore(
  redis: Redis,
  { storage, onUnread = () => {} }: MemoryStoreOptions = {},
): MemoryStore {
  // Memory that all owners' runs of an agent share is not counted, and is bounded for each agent.
  const count = ({ agent, owner }: MemoryScope, bytes: number): void => {
    if (owner !== null) storage?.set(owner, THING + agent, { bytes, ends: null });
  };
  const change = async (
    scope: MemoryScope,
    script: string,
    args: readonly (string | number)[],
  ): Promise<boolean> => {
    const bytes = Number(await fromRedis(redis.eval(script, 1, keyOf(scope), ...args)));
    if (bytes < 0) return false;
    count(scope, bytes);
    return true;
  };
  return {
    async names(scope) {
      const names = (await fromRedis(redis.hkeys(keyOf(scope)))).toSorted();
      // The agent has memory that this run does not get, such as after its sharing was taken back.
      const shared = { ...scope, owner: null };
      const mayBeUnread = scope.owner !== null && names.length === 0;
      if (mayBeUnread && (await fromRedis(redis.exists(keyOf(shared)))) === 1)
        onUnread(scope.agent);
      return names;
    },
    read: (scope, name) => fromRedis(redis.hget(keyOf(scope), name)),
    async write(scope, name, text) {
      if (scope.owner !== null) await storage?.admit(scope.owner, { isUnderWay: true });
      return change(scope, WRITE, [name, text, MAX_NAMES]);
    },
    forget: (scope, name) => change(scope, FORGET, [name]),
  };
}

/** Returns the size of an agent's memory for an owner. Null: nothing, or it is a thing of another kind. Rejects with StoreError. */
export async function memoryHolding(
  redis: Redis,
  owner: string,
  thing: string,
): Promise<Holding | null> {
  if (!thing.startsWith(THING)) return null;
  const key = keyOf({ agent: thing.slice(THING.length), owner });
  const bytes = Number(await fromRedis(redis.eval(`${SIZE} return size()`, 1, key)));
  return bytes === 0 ? null : { bytes, ends: null };
}

/** No name of an agent or a user has a `/`. */
function keyOf({ agent, owner }: MemoryScope): string {
  const of = owner === null ? agent : `${owner}/${agent}`;
  return `yard:{agent:${of}}:memory`;
}

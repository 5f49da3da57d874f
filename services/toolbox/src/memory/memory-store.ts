import type { Principal } from "@switchyard/contracts/policy";
import type { Redis } from "@switchyard/service/redis";
import { fromRedis } from "@switchyard/service/store-error";
import type { MemoryScope } from "../tool.ts";

/** What the agents keep from run to run: text under a name, one set for each owner and agent. */
export interface MemoryStore {
  names(scope: MemoryScope): Promise<string[]>;
  read(scope: MemoryScope, name: string): Promise<string | null>;
  /** Returns false, and writes nothing, when a new name would be one too many. */
  write(scope: MemoryScope, name: string, text: string): Promise<boolean>;
  /** Returns false when there was nothing under the name. */
  forget(scope: MemoryScope, name: string): Promise<boolean>;
}

export const MAX_NAMES = 500;

/** The limit and the write are one step, so that calls at the same time cannot pass the limit together. */
const WRITE = `
if redis.call("HEXISTS", KEYS[1], ARGV[1]) == 0 and redis.call("HLEN", KEYS[1]) >= tonumber(ARGV[3]) then
  return 0
end
redis.call("HSET", KEYS[1], ARGV[1], ARGV[2])
return 1
`;

/** The memory that whoever acts has, by its run token; null for a call without a run. */
export function memoryOf({ agent, user, context }: Principal): MemoryScope | null {
  if (agent === null) return null;
  return { agent, owner: context?.sharesMemory === true ? null : user };
}

/** `onUnread` hears of an agent whose shared memory holds something that a run without a share in it is not given. */
export function createMemoryStore(
  redis: Redis,
  onUnread: (agent: string) => void = () => {},
): MemoryStore {
  return {
    async names(scope) {
      const names = (await fromRedis(redis.hkeys(keyOf(scope)))).toSorted();
      // Versions before 0.2 kept everything there.
      const shared = { ...scope, owner: null };
      const mayBeUnread = scope.owner !== null && names.length === 0;
      if (mayBeUnread && (await fromRedis(redis.exists(keyOf(shared)))) === 1)
        onUnread(scope.agent);
      return names;
    },
    read: (scope, name) => fromRedis(redis.hget(keyOf(scope), name)),
    async write(scope, name, text) {
      return (await fromRedis(redis.eval(WRITE, 1, keyOf(scope), name, text, MAX_NAMES))) === 1;
    },
    async forget(scope, name) {
      return (await fromRedis(redis.hdel(keyOf(scope), name))) === 1;
    },
  };
}

/** No name of an agent or a user has a `/`. */
function keyOf({ agent, owner }: MemoryScope): string {
  const of = owner === null ? agent : `${owner}/${agent}`;
  return `yard:{agent:${of}}:memory`;
}

import type { Redis } from "@switchyard/service/redis";

/** What the agents keep for themselves, from run to run: text under a name, one set for each agent. */
export interface MemoryStore {
  names(agent: string): Promise<string[]>;
  read(agent: string, name: string): Promise<string | null>;
  /** Returns false, and writes nothing, when a new name would be one too many. */
  write(agent: string, name: string, text: string): Promise<boolean>;
  /** Returns false when there was nothing under the name. */
  forget(agent: string, name: string): Promise<boolean>;
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

export function createMemoryStore(redis: Redis): MemoryStore {
  return {
    async names(agent) {
      return (await redis.hkeys(keyOf(agent))).toSorted();
    },
    read: (agent, name) => redis.hget(keyOf(agent), name),
    async write(agent, name, text) {
      return (await redis.eval(WRITE, 1, keyOf(agent), name, text, MAX_NAMES)) === 1;
    },
    async forget(agent, name) {
      return (await redis.hdel(keyOf(agent), name)) === 1;
    },
  };
}

function keyOf(agent: string): string {
  return `yard:{agent:${agent}}:memory`;
}

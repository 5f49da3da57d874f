import { ESSENTIAL } from "@switchyard/service/essential-write";
import type { Redis } from "@switchyard/service/redis";
import { allFromRedis, fromRedis, StoreError } from "@switchyard/service/store-error";
import { ServerDeclaration } from "@switchyard/contracts/mcp-broker/mcp-servers";
import { z } from "zod";

/** A record by its last change; null: there is none. */
interface Expected {
  readonly updatedAt: string | null;
}

/** A server as it was declared, references unresolved; or the mark that a server of the file was removed. */
const RegistryRecord = z.discriminatedUnion("state", [
  z.object({
    state: z.literal("set"),
    declaration: ServerDeclaration,
    updatedAt: z.string(),
    /** Fields of the last change that have no effect; they are no longer in the declaration. */
    warnings: z.array(z.string()).optional(),
  }),
  z.object({ state: z.literal("removed"), updatedAt: z.string() }),
]);
export type RegistryRecord = z.infer<typeof RegistryRecord>;

const KEY = "yard:{mcp}:servers";
export const VERSION_KEY = "yard:{mcp}:servers-version";

/** KEYS records, version · ARGV id, record or nothing, `updatedAt` of the record that is there, or `none`, or `any` · gives 1 when it is written */
const WRITE = `${ESSENTIAL}
local stored = redis.call('HGET', KEYS[1], ARGV[1])
local is = stored and cjson.decode(stored).updatedAt or 'none'
if ARGV[3] ~= 'any' and ARGV[3] ~= is then return 0 end
if ARGV[2] == '' then redis.call('HDEL', KEYS[1], ARGV[1]) else redis.call('HSET', KEYS[1], ARGV[1], ARGV[2]) end
redis.call('INCR', KEYS[2])
return 1
`;

export type RegistryStore = ReturnType<typeof createRegistryStore>;

/**
 * The changes that were made over the bus, stored in Redis. The servers of the file are not copied there: the file is the source
 * of truth for them, and a record of this store replaces its entry. Rejects with StoreError.
 */
export function createRegistryStore(redis: Redis) {
  return {
    async load(): Promise<ReadonlyMap<string, RegistryRecord>> {
      const all = await fromRedis(redis.hgetall(KEY));
      return new Map(Object.entries(all).map(([id, text]) => [id, parseRecord(id, text)]));
    },
    /**
     * Null deletes the record. With `expected`, writes only when the stored record is that one; false when it is not, and then
     * nothing was written.
     */
    async write(id: string, record: RegistryRecord | null, expected?: Expected): Promise<boolean> {
      const text = record === null ? "" : JSON.stringify(record);
      const when = expected === undefined ? "any" : (expected.updatedAt ?? "none");
      const answer = await fromRedis(redis.eval(WRITE, 2, KEY, VERSION_KEY, id, text, when));
      return answer === 1;
    },
    async forget(ids: readonly string[]): Promise<void> {
      if (ids.length === 0) return;
      const steps = redis.multi().hdel(KEY, ...ids);
      await allFromRedis(steps.incr(VERSION_KEY).exec());
    },
    /** A text that differs after every change, whichever broker made it. */
    async version(): Promise<string> {
      return (await fromRedis(redis.get(VERSION_KEY))) ?? "0";
    },
  };
}

function parseRecord(id: string, text: string): RegistryRecord {
  try {
    return RegistryRecord.parse(JSON.parse(text));
  } catch (error) {
    throw new StoreError(`field ${id} of ${KEY} is not a record of a server`, {
      cause: error,
    });
  }
}

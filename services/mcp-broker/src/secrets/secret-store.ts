import { ESSENTIAL } from "@switchyard/service/essential-write";
import type { Redis } from "@switchyard/service/redis";
import { fromRedis, StoreError } from "@switchyard/service/store-error";
import { z } from "zod";
import { VERSION_KEY } from "../registry/registry-store.ts";

/** A secret as Redis has it: the value is encrypted, bound to the name. */
const StoredSecret = z.object({
  sealed: z.string(),
  owner: z.string(),
  updatedAt: z.string(),
  servers: z.array(z.string()).nullable(),
});
export type StoredSecret = z.infer<typeof StoredSecret>;

const KEY = "yard:{mcp}:secrets";

/** KEYS secrets, version · ARGV name, record, limit · returns 0 when there are too many */
const WRITE = `${ESSENTIAL}
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 and redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[3]) then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('INCR', KEYS[2])
return 1
`;

/** KEYS secrets · ARGV name, record as read, record · replaces a record that is still the one that was read */
const RESEAL = `${ESSENTIAL}
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
return 1
`;

export type SecretStore = ReturnType<typeof createSecretStore>;

/** Secrets of MCP servers in Redis. A change counts as one of the registry, so that every broker reads it. Rejects with StoreError. */
export function createSecretStore(redis: Redis) {
  return {
    async load(): Promise<ReadonlyMap<string, StoredSecret>> {
      const all = await fromRedis(redis.hgetall(KEY));
      return new Map(Object.entries(all).map(([name, text]) => [name, parseSecret(name, text)]));
    },
    /** False when there are `limit` others. */
    async write(name: string, secret: StoredSecret, limit: number): Promise<boolean> {
      const text = JSON.stringify(secret);
      return (await fromRedis(redis.eval(WRITE, 2, KEY, VERSION_KEY, name, text, limit))) === 1;
    },
    /** Stores the same value under another key of the cipher, unless it was changed since it was read. */
    async reseal(name: string, before: StoredSecret, sealed: string): Promise<void> {
      const texts = [before, { ...before, sealed }].map((one) => JSON.stringify(one));
      await fromRedis(redis.eval(RESEAL, 1, KEY, name, ...texts));
    },
    /** False when there was none. */
    async remove(name: string): Promise<boolean> {
      return (await fromRedis(redis.hdel(KEY, name))) === 1;
    },
  };
}

function parseSecret(name: string, text: string): StoredSecret {
  try {
    return StoredSecret.parse(JSON.parse(text));
  } catch (error) {
    throw new StoreError(`field ${name} of ${KEY} is not a record of a secret`, { cause: error });
  }
}

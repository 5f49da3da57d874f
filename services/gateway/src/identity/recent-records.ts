import { createHash } from "node:crypto";
import type { Redis } from "@switchyard/service/redis";
import { fromRedis } from "@switchyard/service/store-error";

/** Short texts about the recent requests of a caller, shared by all replicas, with a limit per caller and an expiry. */
export interface RecentRecords {
  /** Stores a text under a name and returns null; if the name exists, returns its text. Rejects with a StoreError. */
  add(caller: string, name: string, text: string): Promise<string | null>;
  /** Replaces the text of a name, if it still exists. Rejects with a StoreError. */
  replace(caller: string, name: string, text: string): Promise<void>;
  /** Returns null when the name does not exist or has expired. Rejects with a StoreError. */
  get(caller: string, name: string): Promise<string | null>;
  /** Deletes a name and its text. Rejects with a StoreError. */
  remove(caller: string, name: string): Promise<void>;
}

export interface RecordLimits {
  /** The limit for each caller; the oldest records are removed first. */
  readonly most: number;
  readonly ttlMs: number;
}

/** The number of expired records that one request removes at most, so that no request waits for many of them. */
const SWEPT = 100;

/** KEYS: times by name, texts by name. ARGV: name, text, now, time to live in milliseconds, most, most to sweep. */
const ADD = `
local known = redis.call('HGET', KEYS[2], ARGV[1])
local ends = redis.call('ZSCORE', KEYS[1], ARGV[1])
if known and ends and tonumber(ends) > tonumber(ARGV[3]) then return known end
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
redis.call('ZADD', KEYS[1], ARGV[3] + ARGV[4], ARGV[1])
local old = redis.call('ZRANGE', KEYS[1], '-inf', ARGV[3], 'BYSCORE', 'LIMIT', 0, ARGV[6])
local over = redis.call('ZCARD', KEYS[1]) - #old - ARGV[5]
if over > 0 then
  for _, name in ipairs(redis.call('ZRANGE', KEYS[1], #old, #old + over - 1)) do old[#old + 1] = name end
end
for _, name in ipairs(old) do
  redis.call('ZREM', KEYS[1], name)
  redis.call('HDEL', KEYS[2], name)
end
redis.call('PEXPIRE', KEYS[1], ARGV[4])
redis.call('PEXPIRE', KEYS[2], ARGV[4])
return false
`;

/** KEYS: texts by name. ARGV: name, text. */
const REPLACE = `
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then redis.call('HSET', KEYS[1], ARGV[1], ARGV[2]) end
return false
`;

/** `kind` separates records of one kind from those of another. */
export function createRecentRecords(
  redis: Redis,
  kind: string,
  { limits, now }: { readonly limits: RecordLimits; readonly now: () => number },
): RecentRecords {
  const { most, ttlMs } = limits;
  const keysOf = (caller: string): [times: string, texts: string] => {
    const key = `yard:gateway:{${kind}:${caller}}`;
    return [`${key}:times`, `${key}:texts`];
  };
  return {
    async add(caller, name, text) {
      const args = [fieldOf(name), text, now(), ttlMs, most, SWEPT].map(String);
      return (await fromRedis(redis.eval(ADD, 2, ...keysOf(caller), ...args))) as string | null;
    },
    async replace(caller, name, text) {
      const [, texts] = keysOf(caller);
      await fromRedis(redis.eval(REPLACE, 1, texts, fieldOf(name), text));
    },
    async get(caller, name) {
      const [times, texts] = keysOf(caller);
      const [ends, text] = await Promise.all([
        fromRedis(redis.zscore(times, fieldOf(name))),
        fromRedis(redis.hget(texts, fieldOf(name))),
      ]);
      return ends !== null && Number(ends) > now() ? text : null;
    },
    async remove(caller, name) {
      const [times, texts] = keysOf(caller);
      await fromRedis(redis.hdel(texts, fieldOf(name)));
      await fromRedis(redis.zrem(times, fieldOf(name)));
    },
  };
}

/** Names may have any form and length. */
function fieldOf(name: string): string {
  return createHash("sha256").update(name).digest("base64url").slice(0, 24);
}

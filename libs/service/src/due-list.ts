import { ESSENTIAL } from "./essential-write.ts";
import type { Redis } from "./redis.ts";
import { fromRedis } from "./store-error.ts";

/** Declares `now` in a script: milliseconds of the one clock that all replicas share. */
export const REDIS_NOW = `
local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
`;

const CLAIM = `${ESSENTIAL}${REDIS_NOW}
if ARGV[3] ~= "" then now = tonumber(ARGV[3]) end
local due = redis.call("ZRANGEBYSCORE", KEYS[1], "-inf", now, "LIMIT", 0, ARGV[1])
for _, name in ipairs(due) do redis.call("ZADD", KEYS[1], now + ARGV[2], name) end
return due
`;

/**
 * Claims work that is due, from a sorted set of its names by the time when each is due, and returns the names. It is due again after
 * `claimMs`: when the replica that claimed it dies, another one continues. `now` is the clock of the times, by default that of Redis.
 * Rejects with StoreError.
 */
export async function claimDue(
  redis: Redis,
  key: string,
  claim: { readonly limit: number; readonly claimMs: number; readonly now?: number },
): Promise<string[]> {
  const { limit, claimMs, now = "" } = claim;
  return (await fromRedis(redis.eval(CLAIM, 1, key, limit, claimMs, now))) as string[]; // members of a sorted set
}

import { createHash } from "node:crypto";
import type { Redis } from "@switchyard/service/redis";

export interface RateLimit {
  /** Counts one request of somebody. Rejects when Redis does not answer. */
  take(who: string, limit: number): Promise<Taken>;
}

export interface Taken {
  readonly isOver: boolean;
  /** For the answer. */
  readonly headers: Readonly<Record<string, string>>;
}

const WINDOW_MS = 60_000;

/** KEYS: counter. ARGV: window in milliseconds. A counter begins with its first request, so that no two windows touch. */
const TAKE = `
local count = redis.call('INCR', KEYS[1])
local left = redis.call('PTTL', KEYS[1])
if left < 0 then redis.call('PEXPIRE', KEYS[1], ARGV[1]); left = tonumber(ARGV[1]) end
return {count, left}
`;

/** Requests in a minute, counted in Redis for all replicas together. */
export function createRateLimit(redis: Redis): RateLimit {
  return {
    async take(who, limit) {
      const key = `yard:gateway:rate:${createHash("sha256").update(who).digest("hex").slice(0, 32)}`;
      const [count = 0, leftMs = 0] = (await redis.eval(
        TAKE,
        1,
        key,
        String(WINDOW_MS),
      )) as number[];
      const isOver = count > limit;
      const reset = String(Math.ceil(leftMs / 1_000));
      const headers = {
        "ratelimit-limit": String(limit),
        "ratelimit-remaining": String(Math.max(0, limit - count)),
        "ratelimit-reset": reset,
      };
      return { isOver, headers: isOver ? { ...headers, "retry-after": reset } : headers };
    },
  };
}

import { createHash } from "node:crypto";
import { PromisedCache } from "@switchyard/contracts/promised-cache";
import { ESSENTIAL } from "@switchyard/service/essential-write";
import type { Redis } from "@switchyard/service/redis";
import { fromRedis } from "@switchyard/service/store-error";

export interface RateLimit {
  /** Counts one request of a caller. Rejects with StoreError. */
  take(who: string, limit: number): Promise<Taken>;
  /**
   * Returns the refusal of {@link take} if this replica has cached that the limit is reached; else null. It counts nothing and
   * queries nothing.
   */
  over(who: string, limit: number): Taken | null;
}

export interface Taken {
  readonly isOver: boolean;
  /** Headers of the answer. */
  readonly headers: Readonly<Record<string, string>>;
}

/** A replica's share of a caller's limit, until the window ends. */
interface Share {
  left: number;
  /** The requests left of the limit, besides this share. */
  readonly remaining: number;
  readonly endsAt: number;
}

const WINDOW_MS = 60_000;
/** A replica fetches this part of a limit at once: each count is a synced write of Redis, and a request waits for it. */
const SHARE = 0.01;
const KEPT = 10_000;

/** KEYS: counter. ARGV: window in milliseconds, how many. A counter begins with its first request, so that no two windows touch. Essential, because a stop is a request, too. */
const TAKE = `${ESSENTIAL}
local count = redis.call('INCRBY', KEYS[1], ARGV[2])
local left = redis.call('PTTL', KEYS[1])
if left < 0 then redis.call('PEXPIRE', KEYS[1], ARGV[1]); left = tonumber(ARGV[1]) end
return {count, left}
`;

/** Counts requests in a minute in Redis for all replicas together: never more than the limit pass, and up to a share of each replica fewer. */
export function createRateLimit(redis: Redis, now: () => number): RateLimit {
  const shares = new PromisedCache<Share>({ now, most: KEPT });
  const fetchShare = async (key: string, limit: number): Promise<Share> => {
    const size = Math.max(1, Math.floor(limit * SHARE));
    const args = [String(WINDOW_MS), String(size)];
    const answer = await fromRedis(redis.eval(TAKE, 1, key, ...args));
    const [count = 0, leftMs = 0] = answer as number[]; // The form in which the script answers.
    const left = Math.min(size, Math.max(0, limit - (count - size)));
    return { left, remaining: Math.max(0, limit - count), endsAt: now() + leftMs };
  };
  return {
    over(who, limit) {
      const share = shares.find(keyOf(who));
      if (share === undefined || !hasEnded(share)) return null;
      return { isOver: true, headers: headersOf(share, { limit, isOver: true, now: now() }) };
    },
    async take(who, limit) {
      const key = keyOf(who);
      for (;;) {
        const fetchOne = () => fetchShare(key, limit);
        const share = await shares.get(key, fetchOne, ({ endsAt }) => endsAt);
        const isOver = hasEnded(share);
        if (share.left > 0 || isOver) {
          if (!isOver) share.left -= 1;
          return { isOver, headers: headersOf(share, { limit, isOver, now: now() }) };
        }
        // Another one is fetched, once for all requests that find it used up.
        if (shares.find(key) === share) shares.delete(key);
      }
    },
  };
}

function keyOf(who: string): string {
  return `yard:gateway:rate:${createHash("sha256").update(who).digest("hex").slice(0, 32)}`;
}

function hasEnded({ left, remaining }: Share): boolean {
  return left === 0 && remaining === 0;
}

function headersOf(
  { left, remaining, endsAt }: Share,
  { limit, isOver, now }: { limit: number; isOver: boolean; now: number },
): Record<string, string> {
  const reset = String(Math.max(0, Math.ceil((endsAt - now) / 1_000)));
  return {
    "ratelimit-limit": String(limit),
    "ratelimit-remaining": String(left + remaining),
    "ratelimit-reset": reset,
    ...(isOver && { "retry-after": reset }),
  };
}

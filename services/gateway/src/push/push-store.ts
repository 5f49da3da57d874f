import { ESSENTIAL } from "@switchyard/service/essential-write";
import type { Redis } from "@switchyard/service/redis";
import { fromRedis } from "@switchyard/service/store-error";
import { PUSHED } from "../subscriptions/subscription-store.ts";

/** A browser that gets web push, in its stored form. A session has one at most. */
export interface PushedBrowser {
  /** The id of the browser's session, which is no secret. */
  readonly session: string;
  readonly owner: string;
  /** The encrypted subscription, see {@link PushTarget}. */
  readonly sealed: string;
}

/** The subscription of a browser. It is stored encrypted, since it has the key of the session. */
export interface PushTarget {
  /** The key of the session, with which rights are checked for each note. */
  readonly sessionKey: string;
  readonly endpoint: string;
  readonly p256dh: string;
  readonly auth: string;
  /** The gateway's public key with which the browser subscribed. */
  readonly publicKey: string;
}

/** Methods reject with StoreError. */
export type PushStore = ReturnType<typeof openPushStore>;

/** The sessions of an owner that get web push, by the time at which they began. */
const sessionsOf = (owner: string): string => `${PUSHED}:${owner}`;

/** KEYS: browsers, sessions of the owner. ARGV: session, record, now, limit. The oldest browsers above the limit are removed. */
const PUT = `
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('ZADD', KEYS[2], 'NX', ARGV[3], ARGV[1])
local over = redis.call('ZCARD', KEYS[2]) - tonumber(ARGV[4])
if over > 0 then
  for _, session in ipairs(redis.call('ZRANGE', KEYS[2], 0, over - 1)) do
    redis.call('ZREM', KEYS[2], session)
    redis.call('HDEL', KEYS[1], session)
  end
end
return 1
`;

/** KEYS: browsers, sessions of the owner. ARGV: session, the record as it was read or an empty text. */
const REMOVE = `${ESSENTIAL}
if ARGV[2] ~= '' and redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
redis.call('ZREM', KEYS[2], ARGV[1])
return redis.call('HDEL', KEYS[1], ARGV[1])
`;

export function openPushStore(redis: Redis) {
  const remove = async (
    { session, owner }: Pick<PushedBrowser, "session" | "owner">,
    record = "",
  ): Promise<boolean> => {
    const keys = [PUSHED, sessionsOf(owner)];
    const removed = redis.eval(REMOVE, keys.length, ...keys, session, record);
    return (await fromRedis(removed)) === 1;
  };
  return {
    /** Replaces the browser of the same session. */
    async put(browser: PushedBrowser, { now, most }: { now: number; most: number }): Promise<void> {
      const { session, owner } = browser;
      const keys = [PUSHED, sessionsOf(owner)];
      const args = [session, JSON.stringify(browser), now, most];
      await fromRedis(redis.eval(PUT, keys.length, ...keys, ...args));
    },
    async list(): Promise<PushedBrowser[]> {
      const texts = await fromRedis(redis.hvals(PUSHED));
      return texts.map((text) => JSON.parse(text) as PushedBrowser); // Only this file writes the records.
    },
    async find(session: string): Promise<PushedBrowser | null> {
      const text = await fromRedis(redis.hget(PUSHED, session));
      return text === null ? null : (JSON.parse(text) as PushedBrowser);
    },
    /** Removes the browser of a session, whatever it is now. */
    end: (browser: Pick<PushedBrowser, "session" | "owner">) => remove(browser),
    /** Removes a browser unless it has subscribed anew since it was read. Resolves with false when it has. */
    drop: (browser: PushedBrowser) => remove(browser, JSON.stringify(browser)),
  };
}

/** A sealed subscription is bound to this text, so that one cannot be put in the place of another. */
export function contextOf(session: string): string {
  return `push:${session}`;
}

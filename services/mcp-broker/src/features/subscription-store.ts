import type { Redis } from "@switchyard/service/redis";
import { allFromRedis, fromRedis } from "@switchyard/service/store-error";
import { z } from "zod";

/** A subscription of a NATS user to a resource of a server, with its expiry. */
const Subscription = z.object({
  /** The NATS user. */
  caller: z.string(),
  uri: z.string(),
  /** Milliseconds since the epoch. */
  expiresAt: z.number(),
});
type Subscription = z.infer<typeof Subscription>;

const KEPT_SECONDS = 2 * 24 * 60 * 60;

export type SubscriptionStore = ReturnType<typeof createSubscriptionStore>;

/**
 * Subscriptions in Redis, one hash for each server, so that they survive the connection and the
 * broker. Rejects with StoreError.
 */
export function createSubscriptionStore(redis: Redis) {
  return {
    async put(server: string, subscription: Subscription): Promise<void> {
      const { caller, uri } = subscription;
      const text = JSON.stringify(subscription);
      await allFromRedis(
        redis
          .multi()
          .hset(keyOf(server), fieldOf(caller, uri), text)
          .expire(keyOf(server), KEPT_SECONDS)
          .exec(),
      );
    },
    async remove(server: string, caller: string, uri: string): Promise<void> {
      await fromRedis(redis.hdel(keyOf(server), fieldOf(caller, uri)));
    },
    /** Returns the subscriptions that have not expired, and deletes the others. */
    async load(server: string, now: number): Promise<Subscription[]> {
      const fields = await fromRedis(redis.hgetall(keyOf(server)));
      const read = Object.entries(fields).map(([field, text]) => ({ field, found: parsed(text) }));
      const over = read.filter(({ found }) => found === null || found.expiresAt <= now);
      if (over.length > 0)
        await fromRedis(redis.hdel(keyOf(server), ...over.map(({ field }) => field)));
      return read.flatMap(({ found }) => (found === null || found.expiresAt <= now ? [] : [found]));
    },
  };
}

function keyOf(server: string): string {
  return `yard:{mcp:${server}}:subscriptions`;
}

/** A NATS user's name has no blank. */
function fieldOf(caller: string, uri: string): string {
  return `${caller} ${uri}`;
}

function parsed(text: string): Subscription | null {
  return Subscription.safeParse(JSON.parse(text)).data ?? null;
}

import type { Redis } from "./redis.ts";
import { fromRedis } from "./store-error.ts";

/**
 * Publishes what changes left in a list of Redis, oldest first and at least once: a text leaves the list when it was published, so after
 * a crash between the two it is published again, with the same message id. `atOnce` texts are published side by side; 1 keeps the order.
 * Ends when the list is empty or `isStopped`. Rejects when Redis or `publish` does, and the rest stays in the list.
 *
 * Two kinds of work are stored elsewhere. Events of a session are a part of its record, which is written with them in one step. Webhooks
 * and messages of channels are found by `claimDue`, since each has retries of its own, and a message that may have arrived is not repeated.
 */
export async function publishOutbox(
  redis: Redis,
  key: string,
  options: {
    readonly atOnce: number;
    readonly publish: (text: string) => Promise<void>;
    readonly isStopped?: () => boolean;
  },
): Promise<void> {
  const { atOnce, publish, isStopped = () => false } = options;
  while (!isStopped()) {
    const texts = await fromRedis(redis.lrange(key, 0, atOnce - 1));
    await Promise.all(
      texts.map(async (text) => {
        await publish(text);
        await fromRedis(redis.lrem(key, 1, text));
      }),
    );
    if (texts.length < atOnce) return;
  }
}

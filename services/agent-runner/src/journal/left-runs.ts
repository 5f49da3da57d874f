import type { Redis } from "@switchyard/service/redis";
import { fromRedis } from "@switchyard/service/store-error";
import { stateKey } from "./run-keys.ts";

/**
 * The runs that were let go lately, at their end or to wait: a nats-server that is alone may lose their last events, since it
 * acknowledges them before it has written them.
 */
export interface LeftRuns {
  /** Notes that a run is let go, with all its events acknowledged or on their way. */
  add(runId: string, atMs: number): Promise<void>;
  /** All that were added and not forgotten, some at a time; those whose runs are kept no longer are left out. */
  all(): AsyncGenerator<LeftRun[]>;
  forgetUntil(ms: number): Promise<void>;
  /** The server that they were compared with last; null: with none. */
  comparedWith(): Promise<string | null>;
  setCompared(server: string): Promise<void>;
}

export interface LeftRun {
  readonly runId: string;
  readonly requester: string;
  /** Events up to this one were acknowledged. */
  readonly published: number;
}

const AT_ONCE = 64;
const LEFT_KEY = "yard:runs:left";
const COMPARED_KEY = "yard:runs:compared";

export function openLeftRuns(redis: Redis): LeftRuns {
  const read = async (runId: string): Promise<LeftRun[]> => {
    const [requester, published] = await fromRedis(
      redis.hmget(stateKey(runId), "requester", "published"),
    );
    return requester ? [{ runId, requester, published: Number(published) }] : [];
  };
  return {
    async add(runId, atMs) {
      await fromRedis(redis.zadd(LEFT_KEY, atMs, runId));
    },

    async *all() {
      for (let from = 0; ; from += AT_ONCE) {
        const last = from + AT_ONCE - 1;
        const runIds = await fromRedis(redis.zrange(LEFT_KEY, String(from), String(last)));
        if (runIds.length === 0) return;
        yield (await Promise.all(runIds.map(read))).flat();
      }
    },

    async forgetUntil(ms) {
      await fromRedis(redis.zremrangebyscore(LEFT_KEY, "-inf", String(ms)));
    },

    comparedWith: () => fromRedis(redis.get(COMPARED_KEY)),

    async setCompared(server) {
      await fromRedis(redis.set(COMPARED_KEY, server));
    },
  };
}

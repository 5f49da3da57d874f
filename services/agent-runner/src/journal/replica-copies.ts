import { setImmediate as immediately } from "node:timers/promises";
import type { Redis } from "@switchyard/service/redis";
import { clusterOf } from "@switchyard/service/redis-cluster";
import { StartError } from "@switchyard/service/start-error";
import { fromRedis, StoreError } from "@switchyard/service/store-error";

/** Makes sure that replicas have the written entries, where an installation requires it (YARD_REDIS_WAIT_REPLICAS). */
export interface ReplicaCopies {
  /** The connection for writes that are to be copied. WAIT holds up all later commands on its connection, so it has its own. */
  readonly redis: Redis;
  /** Resolves when as many replicas have all that this connection has written. Rejects with StoreError when they are too slow or too few. */
  confirm(): Promise<void>;
  close(): void;
}

/** A replica in the same network answers in a millisecond or two. Appends that fail are tried again, as in an outage of Redis. */
const COPY_MS = 500;

/** Opens the copies to replicas. Rejects with a StartError when this Redis does not support them. */
export async function openReplicaCopies(redis: Redis, replicas: number): Promise<ReplicaCopies> {
  if (clusterOf(redis) !== null)
    throw new StartError("YARD_REDIS_WAIT_REPLICAS is set, and Redis is a cluster", {
      hint: "leave it out, or take replicas with Sentinels: docs/operations.md",
    });
  const own = redis.duplicate({ lazyConnect: true });
  // The client reconnects by itself, and the other connection logs the outage.
  own.on("error", () => {});
  try {
    await own.connect();
    await own.wait(0, 1);
  } catch (error) {
    own.disconnect();
    throw new StartError("Redis does not accept WAIT for replicas", {
      hint: "give Redis the users.acl of this version: yard keys init",
      cause: error,
    });
  }
  let next: Promise<void> | null = null;
  const ask = async (): Promise<void> => {
    // All writers of the meantime share the request.
    await immediately();
    next = null;
    const copies = await fromRedis(own.wait(replicas, COPY_MS));
    if (copies < replicas)
      throw new StoreError(`${copies} of ${replicas} replicas of Redis had it after ${COPY_MS} ms`);
  };
  return {
    redis: own,
    confirm: () => (next ??= ask()),
    close: () => own.disconnect(),
  };
}

import { Cluster, Redis, type ClusterOptions } from "ioredis";
import type { RedisTarget } from "./redis-url.ts";

/**
 * The interval at which the map of slots is queried. Errors announce most changes at once; a primary that hung and was replaced is
 * detected by this alone.
 */
const SLOTS_REFRESH_MS = 10_000;

/**
 * A client of Redis Cluster. Each command has the keys of one hash slot and goes to the primary that has the slot. `node` are the options
 * of each connection. Commands that may have been executed are not sent again; those that a server answered with MOVED, ASK or TRYAGAIN
 * were not.
 */
export function openCluster(
  { hosts }: Pick<RedisTarget, "hosts">,
  node: Omit<NonNullable<ClusterOptions["redisOptions"]>, "replyMapping">,
  retryMs: (attempt: number) => number,
): Redis {
  const cluster = new Cluster([...hosts], {
    lazyConnect: true,
    enableOfflineQueue: false,
    clusterRetryStrategy: retryMs,
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
    // Set below: the client's own timer continues after some ends of the connection.
    slotsRefreshInterval: 0,
    // Names stay names, which certificates are for.
    dnsLookup: (name, found) => found(null, name),
    redisOptions: node,
  });
  const refresh = () => void (cluster.status === "ready" && cluster.refreshSlotsCache());
  const timer = setInterval(refresh, SLOTS_REFRESH_MS).unref();
  cluster.once("end", () => clearInterval(timer));
  // It has the commands of the client of one server; the few that it lacks are used through clusterOf alone.
  return cluster as unknown as Redis;
}

/** The client as one of a cluster; null when it is that of one server. */
export function clusterOf(redis: Redis): Cluster | null {
  const client: unknown = redis;
  return client instanceof Cluster ? client : null;
}

/** The connections to all servers that take writes: the client itself, or those to the primaries of a cluster. */
export function primariesOf(redis: Redis): readonly Redis[] {
  return clusterOf(redis)?.nodes("master") ?? [redis];
}

/** Resolves with true when it takes commands now; in a cluster, when all slots are served. Rejects when it does not answer. */
export async function isServing(redis: Redis): Promise<boolean> {
  if (redis.status !== "ready") return false;
  const cluster = clusterOf(redis);
  if (cluster === null) return (await redis.ping()) === "PONG";
  const info = await cluster.cluster("INFO");
  return /^cluster_state:ok\r?$/m.test(info) && /^cluster_slots_ok:16384\r?$/m.test(info);
}

/**
 * A connection of its own, not connected yet, for channels: a subscribed one takes no other commands. In a cluster it goes to one of the
 * primaries, which forward what is published at any, and to the next one when it is lost. It reconnects for ever, with `ready` each time,
 * and its user subscribes at each `ready`: the client's own resubscribing makes promises that no code can await, and ends the process when
 * the connection is cut meanwhile.
 */
export function listenerOf(redis: Redis): Redis {
  const cluster = clusterOf(redis);
  if (cluster === null)
    return redis.duplicate({ lazyConnect: true, enableReadyCheck: true, autoResubscribe: false });
  let turn = 0;
  const next = () => {
    const places = cluster.nodes("master").map(({ options: { host, port } }) => ({ host, port }));
    return places[turn++ % Math.max(1, places.length)] ?? {};
  };
  const { replyMapping: _, ...node } = cluster.options.redisOptions ?? {};
  const own: Redis = new Redis({
    ...node,
    ...next(),
    lazyConnect: true,
    autoResubscribe: false,
    retryStrategy: (attempt: number) => {
      Object.assign(own.options, next());
      return cluster.options.clusterRetryStrategy?.(attempt);
    },
  });
  return own;
}

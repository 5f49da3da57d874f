import type { Redis } from "./redis.ts";
import { primariesOf } from "./redis-cluster.ts";
import { fromRedis } from "./store-error.ts";

/** The used memory of Redis, as this process last read it. */
export interface RedisRoom {
  /** The used share of `maxmemory`, of the fullest primary; 0 where there is no limit. Above 1 Redis refuses what may grow. */
  readonly fill: number;
  /** The sum of the `maxmemory` of all primaries, in bytes; null without it. */
  readonly limitBytes: number | null;
  /** The memory that they use, in bytes. */
  readonly usedBytes: number;
  stop(): void;
}

/** From this share on new work is refused. */
export const NEW_WORK_BELOW = 0.85;
/** Above this share work in progress rests: the remaining room is reserved for its end. */
export const UNDER_WAY_BELOW = 0.92;

const LOOK_EVERY_MS = 1_000;
/** Near the limit it is looked at more often: until the next look every process may write. */
const NEAR = 0.7;
const LOOK_OFTEN_MS = 100;

/**
 * Reads the state of Redis once, and then regularly. After a failed read the previous state stays: the commands that follow report the
 * outage.
 */
export async function openRedisRoom(redis: Redis): Promise<RedisRoom> {
  let facts = { fill: 0, limitBytes: null as number | null, usedBytes: 0 };
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  const look = async (): Promise<void> => {
    try {
      const primaries = primariesOf(redis).map((primary) => fromRedis(primary.info("memory")));
      facts = roomIn(await Promise.all(primaries));
    } catch {
      // The last values stay.
    }
    if (isStopped) return;
    timer = setTimeout(() => void look(), facts.fill < NEAR ? LOOK_EVERY_MS : LOOK_OFTEN_MS);
    timer.unref();
  };
  await look();
  return {
    get fill() {
      return facts.fill;
    },
    get limitBytes() {
      return facts.limitBytes;
    },
    get usedBytes() {
      return facts.usedBytes;
    },
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}

/** Reads `INFO memory` of each primary. What Redis keeps for replicas and its append-only file does not count against maxmemory. */
export function roomIn(
  infos: readonly string[],
): Pick<RedisRoom, "fill" | "limitBytes" | "usedBytes"> {
  const servers = infos.map((info) => {
    const field = (name: string): number =>
      Number(new RegExp(`^${name}:(\\d+)\\r?$`, "m").exec(info)?.[1] ?? 0);
    const used = Math.max(0, field("used_memory") - field("mem_not_counted_for_evict"));
    return { used, limit: field("maxmemory") };
  });
  const isLimited = servers.length > 0 && servers.every(({ limit }) => limit > 0);
  return {
    fill: Math.max(0, ...servers.map(({ used, limit }) => (limit > 0 ? used / limit : 0))),
    limitBytes: isLimited ? servers.reduce((sum, { limit }) => sum + limit, 0) : null,
    usedBytes: servers.reduce((sum, { used }) => sum + used, 0),
  };
}

import type { Redis } from "@switchyard/service/redis";

const AT_ONCE = 1_000;

/** Keys of one kind: their names without ids, which are `*`. */
export interface KeyCount {
  readonly kind: string;
  readonly count: number;
  /** Those that have no time to live. */
  readonly endless: number;
}

/** Counts all keys of Redis by their kinds. */
export async function countKeys(redis: Redis): Promise<KeyCount[]> {
  const counts = new Map<string, { count: number; endless: number }>();
  let cursor = "0";
  do {
    const [next, keys] = await redis.scan(cursor, "COUNT", AT_ONCE);
    cursor = next;
    const times = await Promise.all(keys.map((key) => redis.pttl(key)));
    for (const [index, key] of keys.entries()) {
      const kind = key.replace(/\{[^}]*\}/, "*").replaceAll(/[^:]*\d[^:]*/g, "*");
      const { count, endless } = counts.get(kind) ?? { count: 0, endless: 0 };
      counts.set(kind, { count: count + 1, endless: endless + (times[index] === -1 ? 1 : 0) });
    }
  } while (cursor !== "0");
  return [...counts].map(([kind, found]) => ({ kind, count: found.count, endless: found.endless }));
}

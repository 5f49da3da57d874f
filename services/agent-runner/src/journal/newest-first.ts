import type { Redis } from "@switchyard/service/redis";
import { fromRedis } from "@switchyard/service/store-error";

/** A member of a list, and the cursor with which the list continues after it. */
export interface Row {
  readonly member: string;
  readonly cursor: string;
}

/**
 * Returns a part of a sorted set of members by time, the newest first, after a cursor: members that are added or removed meanwhile
 * shift nothing.
 * Fewer rows than `count` do not mean the end; `isLast` does.
 */
export async function newestFirst(
  redis: Redis,
  key: string,
  { cursor, count }: { readonly cursor: string | null; readonly count: number },
): Promise<{ rows: Row[]; isLast: boolean }> {
  const [, score = "+inf", after = ""] = /^(\d+):(.+)$/.exec(cursor ?? "") ?? [];
  const isBehind = (row: { score: string; member: string }): boolean =>
    row.score !== score || row.member < after;
  // Members of one millisecond are in the order of their names, so those before the cursor come again.
  for (let from = 0; ; from += count) {
    const flat = await fromRedis(
      redis.zrange(key, score, "-inf", "BYSCORE", "REV", "LIMIT", from, count, "WITHSCORES"),
    );
    const rows = pairsOf(flat);
    const behind = rows.filter(isBehind);
    const isLast = rows.length < count;
    if (behind.length === 0 && !isLast) continue;
    return {
      rows: behind.map((row) => ({ member: row.member, cursor: `${row.score}:${row.member}` })),
      isLast,
    };
  }
}

/** Returns members and scores from a reply with `WITHSCORES`. */
export function pairsOf(flat: readonly string[]): { member: string; score: string }[] {
  return Array.from({ length: flat.length / 2 }, (_, index) => ({
    member: flat[2 * index] ?? "",
    score: flat[2 * index + 1] ?? "",
  }));
}

import type { Redis } from "@switchyard/service/redis";
import { fromRedis } from "@switchyard/service/store-error";

/** A member of a list, and the cursor with which the list continues after it. */
export interface Row {
  readonly member: string;
  readonly cursor: string;
}

interface Part {
  readonly cursor: string | null;
  readonly count: number;
  /** ISO times between which the members are; the second is not part of it. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  /** Left out: the newest first. */
  readonly isOldestFirst?: boolean;
}

/**
 * Returns a part of a sorted set of members by time after a cursor: members that are added or removed meanwhile shift nothing.
 * Fewer rows than `count` do not mean the end; `isLast` does.
 */
export async function byTime(
  redis: Redis,
  key: string,
  { cursor, count, from, to, isOldestFirst = false }: Part,
): Promise<{ rows: Row[]; isLast: boolean }> {
  const [, score, after = ""] = /^(\d+):(.+)$/.exec(cursor ?? "") ?? [];
  const least = from === undefined ? "-inf" : String(Date.parse(from));
  const most = to === undefined ? "+inf" : `(${Date.parse(to)}`;
  const isBehind = (row: { score: string; member: string }): boolean =>
    row.score !== score || (isOldestFirst ? row.member > after : row.member < after);
  const read = (skip: number): Promise<string[]> =>
    isOldestFirst
      ? redis.zrange(key, score ?? least, most, "BYSCORE", "LIMIT", skip, count, "WITHSCORES")
      : redis.zrange(
          key,
          score ?? most,
          least,
          "BYSCORE",
          "REV",
          "LIMIT",
          skip,
          count,
          "WITHSCORES",
        );
  // Members of one millisecond are in the order of their names, so those before the cursor come again.
  for (let skip = 0; ; skip += count) {
    const rows = pairsOf(await fromRedis(read(skip)));
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

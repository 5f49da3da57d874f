import type { Approval } from "@switchyard/contracts/approval-record";
import { ESSENTIAL } from "@switchyard/service/essential-write";
import type { Redis } from "@switchyard/service/redis";
import { allFromRedis, fromRedis } from "@switchyard/service/store-error";

/**
 * Which approvals there are, in the order in which they were asked for. It follows the records and may
 * lag behind them: what a record says counts, and an entry without one is forgotten.
 */
export interface ApprovalIndex {
  /** As the approval is now. Safe to repeat. */
  put(approval: Approval): Promise<void>;
  /** Ids, newest first; `cursor` is the last entry of the page before. */
  page(
    which: "all" | "pending",
    options: { readonly limit: number; readonly cursor: string | null },
  ): Promise<readonly IndexEntry[]>;
  pendingCount(): Promise<number>;
  /**
   * Takes a place among the waiting calls of the approval's user, in one step, so that calls that come together get no
   * more than `limit`. False when there is none left. It is free again when nothing waits any more, or at its end.
   */
  reserve(approval: Approval, options: { limit: number; now: number }): Promise<boolean>;
  /** Approvals whose time is over, as far as the index knows. */
  due(now: number, limit: number): Promise<string[]>;
  /** Approvals that wait for a person or for their call, as far as the index knows. */
  open(): Promise<string[]>;
  /** Takes an entry out whose record is gone. */
  forget(entry: IndexEntry): Promise<void>;
}

export interface IndexEntry {
  readonly id: string;
  readonly cursor: string;
}

const ALL = "yard:{approvals}:all";
const PENDING = "yard:{approvals}:pending";
const DUE = "yard:{approvals}:due";
/** By the end of its time, so that one whose end was missed is not counted for ever. */
const pendingOfUser = (user: string): string => `yard:{approvals}:pending:${user}`;
/** Of all approvals; pending ones are never forgotten. */
const MAX_INDEXED = 50_000;

/**
 * Essential: a decision is listed also when Redis is full.
 * KEYS all, pending, pending of the user, due · ARGV entry, id, end in milliseconds, state, how many are listed
 */
const PUT = `${ESSENTIAL}
redis.call('ZADD', KEYS[1], 0, ARGV[1])
if ARGV[4] == 'pending' then
  redis.call('ZADD', KEYS[2], 0, ARGV[1])
  redis.call('ZADD', KEYS[3], ARGV[3], ARGV[2])
else
  redis.call('ZREM', KEYS[2], ARGV[1])
  redis.call('ZREM', KEYS[3], ARGV[2])
end
if ARGV[4] == 'pending' or ARGV[4] == 'approved' then redis.call('ZADD', KEYS[4], ARGV[3], ARGV[2])
else redis.call('ZREM', KEYS[4], ARGV[2]) end
redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -tonumber(ARGV[5]) - 1)
return 1
`;

export function createApprovalIndex(redis: Redis): ApprovalIndex {
  return {
    async put(approval) {
      const { id, principal, expiresAt, state } = approval;
      const keys = [ALL, PENDING, pendingOfUser(principal.user), DUE];
      const args = [entryOf(approval), id, Date.parse(expiresAt), state, MAX_INDEXED];
      await fromRedis(redis.eval(PUT, keys.length, ...keys, ...args));
    },
    async page(which, { limit, cursor }) {
      const from = cursor === null ? "+" : `(${cursor}`;
      const key = which === "all" ? ALL : PENDING;
      const entries = await fromRedis(
        redis.zrange(key, from, "-", "BYLEX", "REV", "LIMIT", 0, limit),
      );
      return entries.map((entry) => ({ id: entry.slice(entry.indexOf(":") + 1), cursor: entry }));
    },
    async reserve({ id, principal, expiresAt }, { limit, now }) {
      const key = pendingOfUser(principal.user);
      const replies = await allFromRedis(
        redis
          .multi()
          .zremrangebyscore(key, 0, now)
          .zadd(key, Date.parse(expiresAt), id)
          .zcard(key)
          .exec(),
      );
      const [, added, waiting] = replies.map(Number);
      if (added === 0 || (waiting ?? 0) <= limit) return true;
      await fromRedis(redis.zrem(key, id));
      return false;
    },
    pendingCount: () => fromRedis(redis.zcard(PENDING)),
    due: (now, limit) => fromRedis(redis.zrange(DUE, 0, String(now), "BYSCORE", "LIMIT", 0, limit)),
    open: () => fromRedis(redis.zrange(DUE, "0", "-1")),
    async forget({ id, cursor }) {
      const removing = [redis.zrem(ALL, cursor), redis.zrem(PENDING, cursor), redis.zrem(DUE, id)];
      await fromRedis(Promise.all(removing));
    },
  };
}

/** Sorts by time as text; the id makes it unique. */
export function entryOf({ id, requestedAt }: Approval): string {
  return `${String(Date.parse(requestedAt)).padStart(15, "0")}:${id}`;
}

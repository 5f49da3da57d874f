import type { Approval } from "@switchyard/contracts/policy/approval-record";
import { ESSENTIAL } from "@switchyard/service/essential-write";
import type { Redis } from "@switchyard/service/redis";
import { allFromRedis, fromRedis } from "@switchyard/service/store-error";
import { nextDueMs } from "./approval-store.ts";

/**
 * The index of approvals in the order of their requests. It follows the records and may lag behind them: a record is
 * authoritative, and an entry without one is removed.
 */
export interface ApprovalIndex {
  /** Writes the approval's present state. Safe to repeat. */
  put(approval: Approval): Promise<void>;
  /** Ids, newest first; `cursor` is the last entry of the page before. */
  page(
    which: "all" | "pending",
    options: { readonly limit: number; readonly cursor: string | null },
  ): Promise<readonly IndexEntry[]>;
  pendingCount(): Promise<number>;
  /**
   * Reserves one of the user's slots for waiting calls, in one step, so that concurrent calls get no more than `limit`. False
   * when none is left. The slot is freed when the approval no longer waits, or at its end.
   */
  reserve(approval: Approval, options: { limit: number; now: number }): Promise<boolean>;
  /** Returns approvals whose time is over, or to whom other people are to be added, according to the index. */
  due(now: number, limit: number): Promise<string[]>;
  /** Returns approvals that wait for a person or for their call, according to the index. */
  open(): Promise<string[]>;
  /** Removes an entry whose record no longer exists. */
  forget(entry: IndexEntry): Promise<void>;
}

export interface IndexEntry {
  readonly id: string;
  readonly cursor: string;
}

const ALL = "yard:{approvals}:all";
const PENDING = "yard:{approvals}:pending";
const DUE = "yard:{approvals}:due";
/** Scored by the end of each approval, so that one whose end was missed is not counted for ever. */
const pendingOfUser = (user: string): string => `yard:{approvals}:pending:${user}`;
/** The limit for all approvals; pending ones are never removed. */
const MAX_INDEXED = 50_000;

/**
 * Essential: a decision is listed also when Redis is full.
 * KEYS all, pending, pending of the user, due · ARGV entry, id, end in milliseconds, state, how many are listed, when to look at it
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
if ARGV[4] == 'pending' or ARGV[4] == 'approved' then redis.call('ZADD', KEYS[4], ARGV[6], ARGV[2])
else redis.call('ZREM', KEYS[4], ARGV[2]) end
redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -tonumber(ARGV[5]) - 1)
return 1
`;

export function createApprovalIndex(redis: Redis): ApprovalIndex {
  return {
    async put(approval) {
      const { id, principal, expiresAt, state } = approval;
      const keys = [ALL, PENDING, pendingOfUser(principal.user), DUE];
      const dueMs = nextDueMs(approval);
      const args = [entryOf(approval), id, Date.parse(expiresAt), state, MAX_INDEXED, dueMs];
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

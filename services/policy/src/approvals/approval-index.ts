import type { Approval } from "@switchyard/contracts/approval-record";
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

export function createApprovalIndex(redis: Redis): ApprovalIndex {
  return {
    async put(approval) {
      const entry = entryOf(approval);
      const multi = redis.multi().zadd(ALL, 0, entry);
      const ofUser = pendingOfUser(approval.principal.user);
      const endMs = Date.parse(approval.expiresAt);
      if (approval.state === "pending")
        multi.zadd(PENDING, 0, entry).zadd(ofUser, endMs, approval.id);
      else multi.zrem(PENDING, entry).zrem(ofUser, approval.id);
      const isOpen = approval.state === "pending" || approval.state === "approved";
      if (isOpen) multi.zadd(DUE, endMs, approval.id);
      else multi.zrem(DUE, approval.id);
      multi.zremrangebyrank(ALL, 0, -MAX_INDEXED - 1);
      await allFromRedis(multi.exec());
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
      await allFromRedis(
        redis.multi().zrem(ALL, cursor).zrem(PENDING, cursor).zrem(DUE, id).exec(),
      );
    },
  };
}

/** Sorts by time as text; the id makes it unique. */
export function entryOf({ id, requestedAt }: Approval): string {
  return `${String(Date.parse(requestedAt)).padStart(15, "0")}:${id}`;
}

import type { Redis } from "@switchyard/service/redis";
import { essentialWrite } from "@switchyard/service/essential-write";
import { fromRedis } from "@switchyard/service/store-error";
import { byTime } from "../journal/by-time.ts";

/**
 * The lists of sessions: of each owner and of all, by last use, and by the time of the next look. They are in other hash slots
 * than the sessions, so they are written before a session and cleaned up after it.
 */
export interface SessionIndex {
  /** Reserves an entry for a new session, until the time of the next look; false when the owner has too many, or more than `most`. */
  reserve(
    entry: IndexEntry,
    times: { usedMs: number; lookMs: number },
    most?: number,
  ): Promise<boolean>;
  /** Records that a session was used, and when to look at it next. */
  touch(
    entry: IndexEntry,
    times: { readonly usedMs: number; readonly lookMs: number },
  ): Promise<void>;
  /** Sets the time of the next look. */
  lookAgain(entry: IndexEntry, lookMs: number): Promise<void>;
  forget(entry: IndexEntry): Promise<void>;
  /** Sessions by last use, the latest first; of one owner, or of all. */
  page(owner: string | null, start: number, count: number): Promise<IndexEntry[]>;
  /** The same behind a cursor; see `byTime`. */
  pageBehind(
    owner: string | null,
    wanted: { readonly cursor: string | null; readonly count: number },
  ): Promise<{ rows: { readonly entry: IndexEntry; readonly cursor: string }[]; isLast: boolean }>;
  /** Sessions to look at now. */
  due(nowMs: number, count: number): Promise<IndexEntry[]>;
}

export interface IndexEntry {
  readonly slot: string;
  readonly owner: string;
}

const ALL_KEY = "yard:sessions:all";
const DUE_KEY = "yard:sessions:due";

export function openSessionIndex(redis: Redis, maxPerOwner: number): SessionIndex {
  return {
    async reserve(entry, { usedMs, lookMs }, most = maxPerOwner) {
      const { slot, owner } = entry;
      // Sent at once, and in this order, since a person waits. The count includes this session, so two concurrent reservations never
      // exceed the limit.
      const [, isNew, , count] = await Promise.all([
        fromRedis(redis.zadd(DUE_KEY, lookMs, memberOf(entry))),
        fromRedis(redis.zadd(ownerKey(owner), "NX", usedMs, slot)),
        fromRedis(redis.zadd(ALL_KEY, "NX", usedMs, memberOf(entry))),
        fromRedis(redis.zcard(ownerKey(owner))),
      ]);
      if (isNew === 0 || count <= most) return true;
      await this.forget(entry);
      return false;
    },

    async touch(entry, { usedMs, lookMs }) {
      const { slot, owner } = entry;
      await Promise.all([
        essentialWrite(redis, ["zadd", ownerKey(owner), usedMs, slot]),
        essentialWrite(redis, ["zadd", ALL_KEY, usedMs, memberOf(entry)]),
        essentialWrite(redis, ["zadd", DUE_KEY, lookMs, memberOf(entry)]),
      ]);
    },

    async lookAgain(entry, lookMs) {
      await essentialWrite(redis, ["zadd", DUE_KEY, lookMs, memberOf(entry)]);
    },

    async forget(entry) {
      const { slot, owner } = entry;
      await fromRedis(redis.zrem(ownerKey(owner), slot));
      await fromRedis(redis.zrem(ALL_KEY, memberOf(entry)));
      await fromRedis(redis.zrem(DUE_KEY, memberOf(entry)));
    },

    async page(owner, start, count) {
      const last = start + count - 1;
      if (owner === null)
        return (await fromRedis(redis.zrevrange(ALL_KEY, start, last))).map(entryOfMember);
      const slots = await fromRedis(redis.zrevrange(ownerKey(owner), start, last));
      return slots.map((slot) => ({ slot, owner }));
    },

    async pageBehind(owner, wanted) {
      const key = owner === null ? ALL_KEY : ownerKey(owner);
      const { rows, isLast } = await byTime(redis, key, wanted);
      const entryOf = (member: string): IndexEntry =>
        owner === null ? entryOfMember(member) : { slot: member, owner };
      return {
        rows: rows.map(({ member, cursor }) => ({ entry: entryOf(member), cursor })),
        isLast,
      };
    },

    async due(nowMs, count) {
      const members = await fromRedis(
        redis.zrangebyscore(DUE_KEY, "-inf", String(nowMs), "LIMIT", "0", String(count)),
      );
      return members.map(entryOfMember);
    },
  };
}

function ownerKey(owner: string): string {
  return `yard:sessions:of:${owner}`;
}

/** Neither part has a slash. */
function memberOf({ slot, owner }: IndexEntry): string {
  return `${owner}/${slot}`;
}

function entryOfMember(member: string): IndexEntry {
  const [owner = "", slot = ""] = member.split("/");
  return { owner, slot };
}

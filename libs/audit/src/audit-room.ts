import type { Redis } from "@switchyard/service/redis";

/** The share of the audit that each user has filled. */
export interface AuditRoom {
  /** The reason why no more records of a user are accepted now; null when they are. */
  refusalOf(user: string): string | null;
  /** Counts one more record of a user. */
  count(user: string): void;
  stop(): Promise<void>;
}

interface AuditRoomOptions {
  readonly redis: Redis;
  readonly service: string;
  /** Returns the used share of the stream, from 0 to 1. Rejects when that cannot be read now. */
  readonly fill: () => Promise<number>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Called at the first failure in a row. */
  readonly onTrouble: (error: unknown) => void;
  /** In milliseconds. */
  readonly everyMs?: number;
}

/** From here on only users with few records have room. */
export const RESERVED_FROM = 0.9;
const EVERY_MS = 30_000;
/** The time for which the stream stores records, and the current month. */
const MONTHS = 15;

/**
 * Reserves the last tenth of the audit for users who did not fill it: while the stream is that full, a user with more records than a fair
 * part, with one part left for the next user, gets no more. Replicas of a service count together in Redis, by month; the counts of a
 * process since its last look are lost when it is killed.
 */
export async function openAuditRoom(options: AuditRoomOptions): Promise<AuditRoom> {
  const { redis, service, fill, now, onTrouble, everyMs = EVERY_MS } = options;
  const key = `yard:audit:{${service}}:users`;
  const unwritten = new Map<string, number>();
  let known: ReadonlyMap<string, number> = new Map();
  let filled = 0;
  let hasFailed = false;

  const look = async (): Promise<void> => {
    const month = monthOf(now());
    for (const [user, count] of Array.from(unwritten)) {
      await redis.hincrby(key, `${month}:${user}`, count);
      const left = (unwritten.get(user) ?? 0) - count;
      if (left > 0) unwritten.set(user, left);
      else unwritten.delete(user);
    }
    const totals = new Map<string, number>();
    for (const [field, count] of Object.entries(await redis.hgetall(key))) {
      const [counted = "", user = ""] = field.split(":");
      if (month - Number(counted) >= MONTHS) await redis.hdel(key, field);
      else add(totals, user, Number(count));
    }
    known = totals;
    filled = await fill();
  };
  const tryToLook = async (): Promise<void> => {
    try {
      await look();
      hasFailed = false;
    } catch (error) {
      // The last counts stay in use, and the stream itself refuses when it is full.
      if (!hasFailed) onTrouble(error);
      hasFailed = true;
    }
  };
  await tryToLook();
  const timer = setInterval(() => void tryToLook(), everyMs).unref();

  return {
    refusalOf(user) {
      if (filled < RESERVED_FROM) return null;
      const own = (known.get(user) ?? 0) + (unwritten.get(user) ?? 0);
      const all = [...known.values(), ...unwritten.values()].reduce((sum, one) => sum + one, 0);
      const users = new Set([...known.keys(), ...unwritten.keys()]).size;
      if (own <= all / (users + 1)) return null;
      return `the audit is ${Math.floor(filled * 100)} % full, and what is left is for others: ${user} has ${own} of its ${all} records by ${service}; the operator gives it more room with \`yard streams ensure --audit-gib <n> --operator-key <file>\``;
    },
    count: (user) => add(unwritten, user, 1),
    async stop() {
      clearInterval(timer);
      await tryToLook();
    },
  };
}

function add(counts: Map<string, number>, user: string, count: number): void {
  counts.set(user, (counts.get(user) ?? 0) + count);
}

/** Months since the year 0. */
function monthOf(ms: number): number {
  const date = new Date(ms);
  return date.getUTCFullYear() * 12 + date.getUTCMonth();
}

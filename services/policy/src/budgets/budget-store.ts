import { ESSENTIAL } from "@switchyard/service/essential-write";
import type { Redis } from "@switchyard/service/redis";
import { allFromRedis, fromRedis } from "@switchyard/service/store-error";
import type { FlowLabel, FlowTouches } from "@switchyard/rules/budgets/flow";
import type {
  WindowAnswer,
  WindowAsked,
  WindowPlan,
} from "@switchyard/rules/budgets/window-memory";
import { z } from "zod";
import { giveBackWindows, takeWindows } from "./window-store.ts";

/** One budget's counter for one run, agent or user, or for all of them. */
export interface BudgetCount {
  /** The budget and the owner of the counter; the key in Redis contains it. */
  readonly name: string;
  /** Null: for as long as the run's counter is stored. */
  readonly windowMs: number | null;
  readonly calls: number | null;
  readonly repeats: number | null;
  readonly concurrency: number | null;
}

export interface Place {
  readonly reservation: string;
  /** A digest of the tool and its arguments, which identifies a repetition. */
  readonly fingerprint: string;
}

/** The limit that a counter has reached. */
export interface Full {
  readonly name: string;
  /** `calls`, `repeats`, `different` or `concurrency`. */
  readonly limit: string;
  /** Milliseconds until its window ends; null for a limit without a window. */
  readonly endsInMs: number | null;
}

/** The answers of the counters and of the windows about a call. */
export interface Taken {
  /** The budget that refuses the call; null when none does. */
  readonly full: Full | null;
  /** The answer of the windows; null when there was no plan, or when a budget refused the call before. */
  readonly windows: WindowAnswer | null;
}

/**
 * Counts calls in Redis: one script for each counter, so two replicas never take the same slot. A call that one budget refuses is
 * subtracted from the counters that had counted it. Windows come last: one script reads all of them, decides and counts, so that a call
 * that is not made is in none of them, not even for a moment.
 */
export interface BudgetStore {
  take(counts: readonly BudgetCount[], place: Place, plan: WindowPlan | null): Promise<Taken>;
  /** Counts a call in windows whatever they hold; once more under the same id changes nothing. A window that is full stays as it is. */
  record(windows: readonly WindowAsked[], id: string): Promise<void>;
  /** Reads windows without counting a call. */
  readWindows(plan: WindowPlan): Promise<WindowAnswer>;
  /** Subtracts a call from its counters, except from the limits of concurrent calls. */
  uncount(counts: readonly BudgetCount[], fingerprint: string): Promise<void>;
  /**
   * Frees the slots in limits of concurrent calls; a call that was certainly not made leaves its windows, too. False when the reservation is
   * unknown or has expired.
   */
  release(reservation: string, isMade: boolean): Promise<boolean>;
  /** Returns the present usage; `fingerprint` identifies the call whose repetitions are requested. */
  usage(counts: readonly BudgetCount[], fingerprint: string): Promise<readonly Usage[]>;
  /** Stores the labels that a family of runs has touched, and returns all of them. */
  touch(family: string, labels: readonly FlowLabel[]): Promise<FlowTouches>;
}

export interface Usage {
  readonly name: string;
  readonly calls: number;
  readonly repeats: number;
  readonly concurrent: number;
  /** Milliseconds until the window of its calls or repetitions ends; null without a window. */
  readonly endsInMs: number | null;
}

/** A slot expires after this time, because its provider may have died. */
export const RESERVATION_MS = 15 * 60_000;
/** The counters of a run and its labels are stored for this time after its last call. */
const RUN_MS = 30 * 86_400_000;

/** A limit of repetitions remembers each different call of its window, about 120 bytes each. */
export const MOST_DIFFERENT = 100_000;

/**
 * KEYS: calls, repeats, slots. ARGV: window ms, calls, repeats, concurrency (-1: none), fingerprint, reservation, lifetime of a
 * slot, `sliding` or `fixed`, how many different calls a window stores. The window begins with its first call.
 */
const TAKE = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local window, calls, repeats, concurrency = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', now)
if calls >= 0 and tonumber(redis.call('GET', KEYS[1]) or '0') >= calls then return 'calls' end
if repeats >= 0 and tonumber(redis.call('HGET', KEYS[2], ARGV[5]) or '0') >= repeats then return 'repeats' end
if repeats >= 0 and redis.call('HLEN', KEYS[2]) >= tonumber(ARGV[9]) and redis.call('HEXISTS', KEYS[2], ARGV[5]) == 0 then return 'different' end
if concurrency >= 0 and redis.call('ZCARD', KEYS[3]) >= concurrency then return 'concurrency' end
if calls >= 0 then
  if redis.call('INCR', KEYS[1]) == 1 or ARGV[8] == 'sliding' then redis.call('PEXPIRE', KEYS[1], window) end
end
if repeats >= 0 then
  local isNew = redis.call('EXISTS', KEYS[2]) == 0
  redis.call('HINCRBY', KEYS[2], ARGV[5], 1)
  if isNew or ARGV[8] == 'sliding' then redis.call('PEXPIRE', KEYS[2], window) end
end
if concurrency >= 0 then
  redis.call('ZADD', KEYS[3], now + ARGV[7], ARGV[6])
  redis.call('PEXPIRE', KEYS[3], ARGV[7])
end
return 'taken'
`;

/** KEYS as above. ARGV: calls, repeats, fingerprint, reservation. */
const UNDO = `${ESSENTIAL}
if ARGV[1] == '1' and redis.call('EXISTS', KEYS[1]) == 1 then redis.call('DECR', KEYS[1]) end
if ARGV[2] == '1' and redis.call('EXISTS', KEYS[2]) == 1 then redis.call('HINCRBY', KEYS[2], ARGV[3], -1) end
redis.call('ZREM', KEYS[3], ARGV[4])
return 1
`;

/** KEYS: calls, repeats. ARGV: fingerprint. A counter that has expired needs no correction. */
const UNCOUNT = `${ESSENTIAL}
if tonumber(redis.call('GET', KEYS[1]) or '0') > 0 then redis.call('DECR', KEYS[1]) end
if tonumber(redis.call('HGET', KEYS[2], ARGV[1]) or '0') > 0 then redis.call('HINCRBY', KEYS[2], ARGV[1], -1) end
return 1
`;

/** `nowMs` is for tests; without it windows use the clock of Redis, which all replicas share. */
export function createBudgetStore(
  redis: Redis,
  nowMs: () => number | null = () => null,
): BudgetStore {
  return {
    take: (counts, place, plan) =>
      fromRedis(takeAll(redis, counts, { ...place, plan, nowMs: nowMs() })),
    async record(windows, id) {
      const plan = { windows, denies: [], allows: [], passesAlone: true };
      // A person's decision has to take effect also while Redis is full.
      const options = { reservation: id, nowMs: nowMs(), isEssential: true };
      await fromRedis(takeWindows(redis, plan, options));
    },
    readWindows: (plan) =>
      fromRedis(takeWindows(redis, plan, { reservation: null, nowMs: nowMs() })),
    async uncount(counts, fingerprint) {
      const keys = counts.map(({ name }) => keysOf(name).slice(0, 2));
      const done = keys.map((both) => redis.eval(UNCOUNT, 2, ...both, fingerprint));
      await fromRedis(Promise.all(done));
    },
    async release(reservation, isMade) {
      const text = await fromRedis(redis.getdel(reservationKey(reservation)));
      if (text === null) return false;
      const { slots, windows } = Reserved.parse(JSON.parse(text));
      const freed = slots.map((name) => redis.zrem(keysOf(name)[2], reservation));
      const left = isMade ? [] : [giveBackWindows(redis, windows, reservation)];
      await fromRedis(Promise.all([...freed, ...left]));
      return true;
    },
    usage: (counts, fingerprint) =>
      fromRedis(
        Promise.all(
          counts.map(async ({ name, windowMs }) => {
            const [calls, repeats, places] = keysOf(name);
            const [made, repeated, concurrent, ...leftMs] = await Promise.all([
              redis.get(calls),
              redis.hget(repeats, fingerprint),
              redis.zcount(places, Date.now(), "+inf"),
              redis.pttl(calls),
              redis.pttl(repeats),
            ]);
            return {
              name,
              calls: Number(made ?? 0),
              repeats: Number(repeated ?? 0),
              concurrent,
              endsInMs: windowLeft(Math.max(...leftMs), windowMs),
            };
          }),
        ),
      ),
    async touch(family, labels) {
      const key = `yard:policy:{flow:${family}}`;
      const steps = redis.multi();
      if (labels.length > 0) steps.sadd(key, ...labels).pexpire(key, RUN_MS);
      const replies = await allFromRedis(steps.smembers(key).exec());
      const members = replies.at(-1) as string[]; // of SMEMBERS
      return {
        untrusted: members.includes("untrusted-in"),
        sensitive: members.includes("sensitive"),
      };
    },
  };
}

/** The names of what a call holds. Replicas of an earlier version store the slots alone. */
const Reserved = z.union([
  z.object({
    slots: z.array(z.string()),
    windows: z.array(z.object({ key: z.string(), kind: z.enum(["count", "sum", "distinct"]) })),
  }),
  z.array(z.string()).transform((slots) => ({ slots, windows: [] })),
]);

/** Takes a slot in each counter and each window, or in none. */
async function takeAll(
  redis: Redis,
  counts: readonly BudgetCount[],
  place: Place & { readonly plan: WindowPlan | null; readonly nowMs: number | null },
): Promise<Taken> {
  const { plan, reservation, nowMs } = place;
  const slots = counts.filter(({ concurrency }) => concurrency !== null).map(({ name }) => name);
  const windows = countedWindows(plan).map(({ key, kind }) => ({ key, kind }));
  const isHeld = slots.length > 0 || windows.length > 0;
  const key = reservationKey(reservation);
  // The names are written first: a slot whose reservation is not stored could not be freed.
  if (isHeld) await redis.set(key, JSON.stringify({ slots, windows }), "PX", RESERVATION_MS);
  const taken: BudgetCount[] = [];
  const takeBack = () =>
    Promise.allSettled([
      ...taken.map((earlier) => undo(redis, earlier, place)),
      ...(isHeld ? [redis.del(key)] : []),
    ]);
  for (const count of counts) {
    const answer = await take(redis, count, place).catch(async (error: unknown) => {
      await takeBack();
      throw error;
    });
    if (answer !== "taken") {
      await takeBack();
      const limit = String(answer);
      const endsInMs = await endOf(redis, count, limit);
      return { full: { name: count.name, limit, endsInMs }, windows: null };
    }
    taken.push(count);
  }
  if (plan === null) return { full: null, windows: null };
  const answer = await takeWindows(redis, plan, { reservation, nowMs }).catch(
    async (error: unknown) => {
      await takeBack();
      throw error;
    },
  );
  if (!answer.isTaken) await takeBack();
  return { full: null, windows: answer };
}

/** The windows in which the call of a plan counts. */
export function countedWindows(plan: WindowPlan | null): readonly WindowAsked[] {
  return plan?.windows.filter(({ share }) => share !== null) ?? [];
}

function take(redis: Redis, count: BudgetCount, { reservation, fingerprint }: Place) {
  return redis.eval(
    TAKE,
    3,
    ...keysOf(count.name),
    String(count.windowMs ?? RUN_MS),
    ...[count.calls, count.repeats, count.concurrency].map((limit) => String(limit ?? -1)),
    fingerprint,
    reservation,
    String(RESERVATION_MS),
    count.windowMs === null ? "sliding" : "fixed",
    String(MOST_DIFFERENT),
  );
}

/** The remaining time of the window in which a limit is reached. */
async function endOf(
  redis: Redis,
  { name, windowMs }: BudgetCount,
  limit: string,
): Promise<number | null> {
  if (windowMs === null || limit === "concurrency") return null;
  const [calls, repeats] = keysOf(name);
  return windowLeft(await redis.pttl(limit === "calls" ? calls : repeats), windowMs);
}

/** Redis answers less than 0 for a key that has just expired: then a new window begins with the next call. */
function windowLeft(leftMs: number, windowMs: number | null): number | null {
  return windowMs === null ? null : Math.max(0, leftMs);
}

function undo(redis: Redis, count: BudgetCount, { reservation, fingerprint }: Place) {
  const counted = [count.calls, count.repeats].map((limit) => (limit === null ? "0" : "1"));
  return redis.eval(UNDO, 3, ...keysOf(count.name), ...counted, fingerprint, reservation);
}

/** All in one slot. */
function keysOf(name: string): [calls: string, repeats: string, places: string] {
  const key = `yard:policy:{budget:${name}}`;
  return [`${key}:calls`, `${key}:repeats`, `${key}:places`];
}

function reservationKey(reservation: string): string {
  return `yard:policy:{reservation:${reservation}}`;
}

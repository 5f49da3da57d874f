import { ESSENTIAL } from "@switchyard/service/essential-write";
import type { Redis } from "@switchyard/service/redis";
import { allFromRedis, fromRedis } from "@switchyard/service/store-error";
import type { FlowLabel, FlowTouches } from "@switchyard/rules/budgets/flow";

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

/**
 * Counts calls in Redis: one script for each counter, so two replicas never take the same slot. A call that one budget refuses is
 * subtracted from the counters that had counted it.
 */
export interface BudgetStore {
  take(counts: readonly BudgetCount[], place: Place): Promise<Full | null>;
  /** Subtracts a call from its counters, except from the limits of concurrent calls. */
  uncount(counts: readonly BudgetCount[], fingerprint: string): Promise<void>;
  /** Frees the slots in limits of concurrent calls. False when the reservation is unknown or has expired. */
  release(reservation: string): Promise<boolean>;
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

export function createBudgetStore(redis: Redis): BudgetStore {
  return {
    take: (counts, place) => fromRedis(takeAll(redis, counts, place)),
    async uncount(counts, fingerprint) {
      const keys = counts.map(({ name }) => keysOf(name).slice(0, 2));
      const done = keys.map((both) => redis.eval(UNCOUNT, 2, ...both, fingerprint));
      await fromRedis(Promise.all(done));
    },
    async release(reservation) {
      const names = await fromRedis(redis.getdel(reservationKey(reservation)));
      if (names === null) return false;
      const known = JSON.parse(names) as string[]; // written by `take`
      const done = known.map((name) => redis.zrem(keysOf(name)[2], reservation));
      await fromRedis(Promise.all(done));
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

/** Takes a slot in each counter, or in none. */
async function takeAll(
  redis: Redis,
  counts: readonly BudgetCount[],
  place: Place,
): Promise<Full | null> {
  const names = counts.filter(({ concurrency }) => concurrency !== null).map(({ name }) => name);
  const key = reservationKey(place.reservation);
  // The names are written first: a slot whose reservation is not stored could not be freed.
  if (names.length > 0) await redis.set(key, JSON.stringify(names), "PX", RESERVATION_MS);
  const taken: BudgetCount[] = [];
  const takeBack = () =>
    Promise.allSettled([
      ...taken.map((earlier) => undo(redis, earlier, place)),
      ...(names.length > 0 ? [redis.del(key)] : []),
    ]);
  for (const count of counts) {
    const answer = await take(redis, count, place).catch(async (error: unknown) => {
      await takeBack();
      throw error;
    });
    if (answer !== "taken") {
      await takeBack();
      const limit = String(answer);
      return { name: count.name, limit, endsInMs: await endOf(redis, count, limit) };
    }
    taken.push(count);
  }
  return null;
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

import type { Redis } from "./redis.ts";
import { fromRedis } from "./store-error.ts";
import { ESSENTIAL } from "./essential-write.ts";

/** The size of a thing in Redis now. */
export interface Holding {
  readonly bytes: number;
  /** The time at which Redis expires it, in milliseconds since the Unix epoch; null: it lasts. */
  readonly ends: number | null;
}

export type LookUp = (owner: string, thing: string) => Promise<Holding | null>;

interface AccountParts {
  readonly redis: Redis;
  /** The NATS user of this service. */
  readonly service: string;
  /** The services whose sums count against the same limit. */
  readonly services: readonly string[];
  /** Bytes that one owner may keep. */
  readonly limit: () => number;
  readonly now: () => number;
  /** Returns the bytes of a thing that was not set for a day; null: it is deleted. */
  readonly lookUp: LookUp;
  readonly onTrouble: (error: unknown) => void;
}

/** Changes are written after this time, or from this size on. */
const WRITE_AFTER_MS = 1_000;
const WRITE_FROM_BYTES = 1024 ** 2;
/** A sum is used for this long before it is read again. */
const KNOWN_FOR_MS = 1_000;
/** The sums of other services are read less often. */
const OTHERS_KNOWN_FOR_MS = 5_000;
/** A thing without an expiry is looked up when it was not set for this time: its process may have died before it wrote. */
const LOOK_UP_AFTER_MS = 86_400_000;
/** Bytes that expire are counted together for this part of the time for which they are kept. */
const PARTS = 24;

interface Reservation extends Holding {
  readonly thing: string;
  readonly resolve: (isTaken: boolean) => void;
  readonly reject: (error: unknown) => void;
}

/** Changes that are not written yet. */
interface Changes {
  readonly sets: Map<string, Holding>;
  readonly adds: Map<string, Holding>;
  readonly reservations: Reservation[];
}

/** The sums of one owner that this process has read, and its changes that are not written yet. */
export class OwnerAccount {
  readonly owner: string;
  readonly #parts: AccountParts;
  #changes: Changes = noChanges();
  /** Bytes of the changes, as far as they are new. */
  #unwritten = 0;
  #own = 0;
  #others = 0;
  #knownAt = Number.NEGATIVE_INFINITY;
  #othersKnownAt = Number.NEGATIVE_INFINITY;
  #cursor = "0";
  /** The exchange under way, and the one behind it. */
  #writing: Promise<void> | null = null;
  #next: Promise<void> | null = null;
  #timer: NodeJS.Timeout | undefined;

  constructor(owner: string, parts: AccountParts) {
    this.owner = owner;
    this.#parts = parts;
  }

  /** The bytes of the owner, as of the last exchange. */
  get usedBytes(): number {
    return this.#own + this.#others;
  }

  get isAtRest(): boolean {
    const { sets, adds, reservations } = this.#changes;
    const isWriting = this.#writing !== null || this.#next !== null;
    return !isWriting && sets.size + adds.size + reservations.length === 0;
  }

  /** True when there is room. Nothing is refused for an old sum, nor for one that is estimated. Rejects with StoreError. */
  async hasRoom(): Promise<boolean> {
    const { now, limit } = this.#parts;
    const isKnown = now() - this.#knownAt < KNOWN_FOR_MS;
    if (isKnown && this.usedBytes + this.#unwritten < limit()) return true;
    await this.exchange();
    return this.usedBytes < limit();
  }

  /** Counts a thing unless that would be too much; false when it would. Rejects with StoreError. */
  async reserve(thing: string, bytes: number): Promise<boolean> {
    const { promise, resolve, reject } = Promise.withResolvers<boolean>();
    const ends = this.#parts.now() + LOOK_UP_AFTER_MS;
    this.#changes.reservations.push({ thing, bytes, ends, resolve, reject });
    // Whichever exchange takes it along settles it.
    this.exchange().catch(() => undefined);
    return promise;
  }

  set(thing: string, holding: Holding): void {
    const before = this.#changes.sets.get(thing)?.bytes ?? 0;
    this.#changes.sets.set(thing, holding);
    this.#writeSoon(Math.max(0, holding.bytes - before));
  }

  add(bytes: number, keptMs: number): void {
    const partMs = Math.ceil(keptMs / PARTS);
    const part = Math.floor(this.#parts.now() / partMs);
    this.#addTo(`~${keptMs}:${part}`, { bytes, ends: (part + 1) * partMs + keptMs });
    this.#writeSoon(bytes);
  }

  /** Writes the pending changes, and reads the sum. One at a time: changes that come meanwhile go together into the next one. */
  exchange(): Promise<void> {
    this.#next ??= this.#takeTurn();
    return this.#next;
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  async #takeTurn(): Promise<void> {
    await this.#writing?.catch(() => undefined);
    this.#next = null;
    this.#writing = this.#exchangeNow().finally(() => {
      this.#writing = null;
    });
    await this.#writing;
  }

  async #exchangeNow(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const changes = this.#changes;
    const written = this.#unwritten;
    this.#changes = noChanges();
    this.#unwritten = 0;
    try {
      await this.#readOthers();
      await this.#write(changes);
      this.#knownAt = this.#parts.now();
    } catch (error) {
      for (const one of changes.reservations) one.reject(error);
      this.#takeBack(changes);
      this.#unwritten += written;
      throw error;
    }
  }

  async #readOthers(): Promise<void> {
    const { redis, service, services, now } = this.#parts;
    if (now() - this.#othersKnownAt < OTHERS_KNOWN_FOR_MS) return;
    const others = services.filter((name) => name !== service);
    const reading = others.map((name) => redis.hget(storageKey(this.owner, name), STORAGE_TOTAL));
    const totals = await fromRedis(Promise.all(reading));
    this.#others = totals.reduce((sum, total) => sum + Number(total ?? 0), 0);
    this.#othersKnownAt = now();
  }

  async #write(changes: Changes): Promise<void> {
    const { redis, service, services } = this.#parts;
    // A service that counts nothing reads what the others count.
    if (!services.includes(service)) return;
    const key = storageKey(this.owner, service);
    const answer = await fromRedis(redis.eval(LEDGER, 1, key, ...this.#argumentsOf(changes)));
    const [total, cursor, refused, due] = answer as [string, string, number[], string[]]; // what the script returns
    this.#own = Number(total);
    this.#cursor = cursor;
    for (const [index, one] of changes.reservations.entries())
      one.resolve(!refused.includes(index));
    for (const thing of due) void this.#lookUp(thing);
  }

  /** The arguments in the order of the script, with times in seconds. */
  #argumentsOf({ sets, adds, reservations }: Changes): (string | number)[] {
    const nowMs = this.#parts.now();
    const entry = (thing: string, { bytes, ends }: Holding): (string | number)[] => [
      thing,
      Math.ceil(bytes),
      Math.ceil((ends ?? nowMs + LOOK_UP_AFTER_MS) / 1_000),
    ];
    return [
      Math.floor(nowMs / 1_000),
      Math.max(0, this.#parts.limit() - this.#others),
      this.#cursor,
      sets.size,
      adds.size,
      ...[...sets].flatMap(([thing, holding]) => entry(thing, holding)),
      ...[...adds].flatMap(([thing, holding]) => entry(thing, holding)),
      ...reservations.flatMap((one) => entry(one.thing, one)),
    ];
  }

  /** Never rejects. */
  async #lookUp(thing: string): Promise<void> {
    const { lookUp, now, onTrouble } = this.#parts;
    try {
      const found = await lookUp(this.owner, thing);
      // A value that was set in the meantime is newer.
      if (!this.#changes.sets.has(thing)) this.set(thing, found ?? { bytes: 0, ends: now() });
    } catch (error) {
      onTrouble(error);
    }
  }

  /** They may have been written all the same: sums of what expires are then counted twice, which their expiry corrects. */
  #takeBack({ sets, adds }: Changes): void {
    for (const [thing, holding] of sets)
      if (!this.#changes.sets.has(thing)) this.#changes.sets.set(thing, holding);
    for (const [thing, more] of adds) this.#addTo(thing, more);
  }

  #addTo(thing: string, { bytes, ends }: Holding): void {
    const { adds } = this.#changes;
    adds.set(thing, { bytes: (adds.get(thing)?.bytes ?? 0) + bytes, ends });
  }

  #writeSoon(bytes: number): void {
    this.#unwritten += bytes;
    if (this.#unwritten >= WRITE_FROM_BYTES && this.#next === null) this.#writeNow();
    else this.#timer ??= setTimeout(() => this.#writeNow(), WRITE_AFTER_MS).unref();
  }

  #writeNow(): void {
    this.exchange().catch((error: unknown) => {
      this.#parts.onTrouble(error);
      this.#timer ??= setTimeout(() => this.#writeNow(), WRITE_AFTER_MS).unref();
    });
  }
}

function noChanges(): Changes {
  return { sets: new Map(), adds: new Map(), reservations: [] };
}

/** The field with the sum of all others. No thing has this name. */
const STORAGE_TOTAL = "=";

/** The hash that a service has for an owner. All hashes of one owner are in one hash slot. */
export function storageKey(owner: string, service: string): string {
  return `yard:storage:{${owner}}:${service}`;
}

/** The number of fields that each exchange examines, and of the expired ones that it returns. */
const LOOKED_AT = 50;
const RETURNED = 20;
/** An owner without changes for so long has nothing left that lasts. */
const KEPT_SECONDS = 90 * 86_400;

/**
 * The counts of one service for one owner: a hash from the name of each thing to `<bytes> <end in seconds>`, and the sum. Everything is in
 * one script, so the sum is that of the fields at any time. A thing is set to its size, so that a repeat changes nothing, and counts that
 * were lost with a process are corrected with the next set or look-up. A name that begins with ~ is a sum of things that Redis expires
 * itself; it is deleted when its time is over. Other things whose time is over are returned, to be looked up.
 *
 * KEYS the hash · ARGV now in seconds, bytes that may be stored in all, cursor, number of sets, number of adds, then name, bytes and end of
 * each set, of each add and of each reservation · returns the sum, the next cursor, the numbers of the reservations that are refused,
 * things to be looked up
 */
const LEDGER = `${ESSENTIAL}
local ledger, now, most = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2])
local total = tonumber(redis.call('HGET', ledger, '${STORAGE_TOTAL}') or '0')
local before = total
local function whole(n) return string.format('%.0f', n) end
local function bytesIn(text) return tonumber(string.match(text or '0', '^%d+')) end
local function put(thing, bytes, ends)
  total = total - bytesIn(redis.call('HGET', ledger, thing)) + bytes
  if bytes == 0 then redis.call('HDEL', ledger, thing)
  else redis.call('HSET', ledger, thing, whole(bytes) .. ' ' .. ends) end
end
local at, sets, adds = 6, tonumber(ARGV[4]), tonumber(ARGV[5])
for _ = 1, sets do
  put(ARGV[at], tonumber(ARGV[at + 1]), ARGV[at + 2])
  at = at + 3
end
for _ = 1, adds do
  local thing = ARGV[at]
  put(thing, bytesIn(redis.call('HGET', ledger, thing)) + tonumber(ARGV[at + 1]), ARGV[at + 2])
  at = at + 3
end
-- Before anything is refused, what is over makes room.
local found = redis.call('HSCAN', ledger, ARGV[3], 'COUNT', ${LOOKED_AT})
local due = {}
for i = 1, #found[2], 2 do
  local thing, ends = found[2][i], tonumber(string.match(found[2][i + 1], ' (%d+)$') or '')
  if ends and ends <= now then
    if string.sub(thing, 1, 1) == '~' then put(thing, 0, '0')
    elseif #due < ${RETURNED} then due[#due + 1] = thing end
  end
end
local refused, index = {}, 0
while at <= #ARGV do
  local thing, bytes = ARGV[at], tonumber(ARGV[at + 1])
  local known = bytesIn(redis.call('HGET', ledger, thing))
  if known == 0 and total + bytes > most then refused[#refused + 1] = index
  elseif known < bytes then put(thing, bytes, ARGV[at + 2]) end
  at = at + 3
  index = index + 1
end
if total ~= before or sets > 0 then
  if redis.call('HLEN', ledger) > 0 and total > 0 then
    redis.call('HSET', ledger, '${STORAGE_TOTAL}', whole(total))
    redis.call('EXPIRE', ledger, ${KEPT_SECONDS})
  else redis.call('DEL', ledger) end
end
return {whole(total), found[1], refused, due}
`;

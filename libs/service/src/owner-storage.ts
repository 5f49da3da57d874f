import { ServiceError } from "@switchyard/contracts/errors";
import { STORAGE_SERVICES } from "@switchyard/contracts/owner-storage";
import type { StorageFull } from "@switchyard/contracts/store-errors";
import { OwnerAccount, type Holding, type LookUp } from "./owner-account.ts";
import type { Redis } from "./redis.ts";
import { NEW_WORK_BELOW, UNDER_WAY_BELOW, type RedisRoom } from "./redis-room.ts";

export type { Holding } from "./owner-account.ts";

/**
 * Counts what each owner stores in Redis, and refuses new work when that is too much or Redis itself is nearly full. Refusals are
 * ServiceErrors `storage_full` with {@link StorageFull} as their data; without Redis methods reject with StoreError.
 */
export interface OwnerStorage {
  /** True while Redis has no room for new work of any owner. */
  readonly isRedisFull: boolean;
  /** Rejects when there is no room for the work. */
  admit(owner: string, work?: Work): Promise<void>;
  /** Does the same as `admit` for something of a known size, which is counted from then on under its name until `set` changes it. */
  reserve(
    owner: string,
    what: { readonly thing: string; readonly bytes: number },
    work?: Work,
  ): Promise<void>;
  /** Sets the size of a thing: 0 when it is deleted. Repeats change nothing. It is written within a second. */
  set(owner: string, thing: string, holding: Holding): void;
  /** Counts bytes that Redis expires itself after `keptMs`. They are written within a second. */
  add(owner: string, bytes: number, keptMs: number): void;
  /** Sets the function that looks up things that were not set for a day. Without it such things count as deleted. */
  lookUpWith(lookUp: LookUp): void;
  /** Writes the changes that are not written yet. */
  stop(): Promise<void>;
}

/** Work in progress may continue above the fill at which new work is refused, so that it can end; left out: it is new. */
export interface Work {
  readonly isUnderWay: boolean;
}

export interface OwnerStorageOptions {
  readonly redis: Redis;
  readonly room: Pick<RedisRoom, "fill" | "limitBytes" | "usedBytes">;
  /** The NATS user of this service. */
  readonly service: string;
  /** The services whose sums count against the same limit; left out: all that store in Redis. */
  readonly services?: readonly string[];
  /** The most that one owner may store, in bytes; null: half of Redis' maxmemory, or 1 GiB where it has none. */
  readonly limitBytes: number | null;
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number;
  readonly onTrouble: (error: unknown) => void;
}

const NEW: Work = { isUnderWay: false };
const SHARE_OF_REDIS = 0.5;
const LIMIT_WITHOUT_MAXMEMORY = 1024 ** 3;
const MOST_OWNERS = 10_000;

export function createOwnerStorage(options: OwnerStorageOptions): OwnerStorage {
  const { room } = options;
  const accounts = new Map<string, OwnerAccount>();
  let lookUp = knowsNothing;
  const limit = (): number => options.limitBytes ?? shareOf(room);
  const { services = STORAGE_SERVICES } = options;
  const parts = {
    ...options,
    services,
    limit,
    lookUp: (...about: Parameters<LookUp>) => lookUp(...about),
  };

  const accountOf = (owner: string): OwnerAccount => {
    const known = accounts.get(owner);
    if (known !== undefined) return known;
    const [oldest] = accounts.values();
    if (accounts.size >= MOST_OWNERS && oldest?.isAtRest === true) accounts.delete(oldest.owner);
    const account = new OwnerAccount(owner, parts);
    accounts.set(owner, account);
    return account;
  };

  return {
    get isRedisFull() {
      return room.fill >= NEW_WORK_BELOW;
    },
    async admit(owner, work = NEW) {
      checkRedis(room, work);
      const account = accountOf(owner);
      if (!(await account.hasRoom())) throw ownerFull(account, limit());
    },
    async reserve(owner, { thing, bytes }, work = NEW) {
      checkRedis(room, work);
      const account = accountOf(owner);
      if (!(await account.reserve(thing, bytes))) throw ownerFull(account, limit());
    },
    set: (owner, thing, holding) => accountOf(owner).set(thing, holding),
    add: (owner, bytes, keptMs) => accountOf(owner).add(bytes, keptMs),
    lookUpWith(given) {
      lookUp = given;
    },
    async stop() {
      const all = [...accounts.values()];
      const waiting = all.filter(({ isAtRest }) => !isAtRest);
      await Promise.all(waiting.map((one) => one.exchange().catch(options.onTrouble)));
      for (const account of all) account.stop();
    },
  };
}

/**
 * Returns the stored result of a request that arrives a second time, where there is no room for anything new: it is answered all the same.
 * Resolves with null when there is room, and rejects as the admission does when there is neither room nor a result.
 */
export async function knownWithoutRoom<T>(
  admission: Promise<void> | undefined,
  readKnown: () => Promise<T | null>,
): Promise<T | null> {
  try {
    await admission;
    return null;
  } catch (error) {
    const known = await readKnown();
    if (known === null) throw error;
    return known;
  }
}

const knowsNothing: LookUp = () => Promise.resolve(null);

function shareOf({ limitBytes }: Pick<RedisRoom, "limitBytes">): number {
  return limitBytes === null ? LIMIT_WITHOUT_MAXMEMORY : Math.floor(limitBytes * SHARE_OF_REDIS);
}

function checkRedis(
  { fill, limitBytes, usedBytes }: OwnerStorageOptions["room"],
  { isUnderWay }: Work,
): void {
  if (fill < (isUnderWay ? UNDER_WAY_BELOW : NEW_WORK_BELOW)) return;
  throw full(
    `Redis is ${Math.floor(fill * 100)} % full, so nothing new is begun; what is under way can be ended. Try again later; the operator gives Redis more memory`,
    { scope: "redis", usedBytes, limitBytes: limitBytes ?? usedBytes },
  );
}

function ownerFull({ owner, usedBytes }: OwnerAccount, limitBytes: number): ServiceError {
  return full(
    `${owner} keeps ${mib(usedBytes)} MiB and may keep ${mib(limitBytes)}: delete sessions, jobs or memories, or wait until old runs expire; the operator raises YARD_OWNER_STORAGE_MIB`,
    { scope: "owner", usedBytes, limitBytes },
  );
}

function full(message: string, data: StorageFull): ServiceError {
  return new ServiceError("storage_full", message, { data });
}

function mib(bytes: number): string {
  return (bytes / 1024 ** 2).toFixed(bytes < 10 * 1024 ** 2 ? 1 : 0);
}

import { ESSENTIAL, essentialWrite } from "./essential-write.ts";
import type { Redis } from "./redis.ts";
import { fromRedis } from "./store-error.ts";

/** The keys of a lease. Its epoch is counted beside it and outlives every lease, so a later owner always has a higher one. */
export interface LeaseKeys {
  readonly lease: string;
  readonly epoch: string;
}

/** The right of one process, until it expires. A write that names owner and epoch is refused once another process has the right. */
export interface Lease {
  readonly owner: string;
  readonly epoch: number;
}

/**
 * A function for scripts that write under a lease: `holdsLease(key, owner, epoch)`, with the epoch as text. A lease is a hash with
 * `owner` and `epoch`, and fields of its owner's that expire with it.
 */
export const HOLDS_LEASE = `
local function holdsLease(key, owner, epoch)
  local held = redis.call("HMGET", key, "owner", "epoch")
  return held[1] == owner and held[2] == epoch
end
`;

/** Our own lease in the way means that the answer to the first request was lost: a new epoch is safe. */
const ACQUIRE = `${ESSENTIAL}
local owner = redis.call("HGET", KEYS[1], "owner")
if owner and owner ~= ARGV[1] then return false end
local epoch = redis.call("INCR", KEYS[2])
redis.call("DEL", KEYS[1])
redis.call("HSET", KEYS[1], "owner", ARGV[1], "epoch", epoch, unpack(ARGV, 3))
redis.call("PEXPIRE", KEYS[1], ARGV[2])
return epoch`;

const RENEW = `${HOLDS_LEASE}
if not holdsLease(KEYS[1], ARGV[1], ARGV[2]) then return 0 end
return redis.call("PEXPIRE", KEYS[1], ARGV[3])`;

const RELEASE = `${HOLDS_LEASE}
if not holdsLease(KEYS[1], ARGV[1], ARGV[2]) then return 0 end
return redis.call("DEL", KEYS[1])`;

/**
 * Claims a lease that is free; null while another owner has it. `fields` are the names and values that the lease begins with.
 * Rejects with StoreError.
 */
export async function acquireLease(
  redis: Redis,
  keys: LeaseKeys,
  claim: {
    readonly owner: string;
    readonly leaseMs: number;
    readonly fields?: readonly (string | number)[];
  },
): Promise<Lease | null> {
  const { owner, leaseMs, fields = [] } = claim;
  const asked = redis.eval(ACQUIRE, 2, keys.lease, keys.epoch, owner, leaseMs, ...fields);
  const epoch = await fromRedis(asked);
  return typeof epoch === "number" ? { owner, epoch } : null;
}

/** Lets a lease last for `leaseMs` from now; false when it is not the owner's any more. Rejects with StoreError. */
export async function renewLease(
  redis: Redis,
  { lease }: LeaseKeys,
  { owner, epoch, leaseMs }: Lease & { readonly leaseMs: number },
): Promise<boolean> {
  return (await fromRedis(redis.eval(RENEW, 1, lease, owner, epoch, leaseMs))) === 1;
}

/** Ends a lease, unless it is not the owner's any more. Rejects with StoreError. */
export async function releaseLease(
  redis: Redis,
  { lease }: LeaseKeys,
  { owner, epoch }: Lease,
): Promise<void> {
  await fromRedis(redis.eval(RELEASE, 1, lease, owner, epoch));
}

/**
 * Functions for scripts about locks: `holdLock(key, holder, ms)` takes a free lock or prolongs the holder's own, and
 * `releaseLock(key, holder)` ends the holder's own.
 */
export const LOCKS = `
local function holdLock(key, holder, ms)
  local held = redis.call("GET", key)
  if held and held ~= holder then return false end
  redis.call("SET", key, holder, "PX", ms)
  return true
end
local function releaseLock(key, holder)
  if redis.call("GET", key) == holder then redis.call("DEL", key) end
end
`;

const UNLOCK = `${LOCKS}
releaseLock(KEYS[1], ARGV[1])
return 1`;

/**
 * Takes a lock: a key with the name of its holder, which expires. It has no epoch, so it is for work that may happen twice when a
 * holder was stopped for longer. False while it is held, also by the same holder. Rejects with StoreError.
 */
export async function takeLock(
  redis: Redis,
  key: string,
  { holder, forMs }: { readonly holder: string; readonly forMs: number },
): Promise<boolean> {
  const taking = essentialWrite(redis, ["set", key, holder, "PX", Math.ceil(forMs), "NX"]);
  return (await taking) === "OK";
}

/** Ends a lock, unless another holder has it. Rejects with StoreError. */
export async function releaseLock(redis: Redis, key: string, holder: string): Promise<void> {
  await fromRedis(redis.eval(UNLOCK, 1, key, holder));
}

import { ESSENTIAL } from "@switchyard/service/essential-write";
import type { Redis } from "@switchyard/service/redis";
import { HOLDS_LEASE, type Lease } from "@switchyard/service/redis-lease";
import { fromRedis } from "@switchyard/service/store-error";
import type { Cursor } from "../adapters/adapter.ts";

const MAX_LENGTH = 4_096;

/** KEYS: the cursor, the lease. ARGV: the value, owner and epoch of the lease. */
const SET = `${ESSENTIAL}${HOLDS_LEASE}
if not holdsLease(KEYS[2], ARGV[2], ARGV[3]) then return 0 end
redis.call("SET", KEYS[1], ARGV[1])
return 1`;

/** Stores an account's position in its provider's stream; only the holder of the lease for its inbound connection can change it. */
export function createCursor(
  redis: Redis,
  options: {
    readonly name: string;
    readonly leaseKey: string;
    readonly held: () => Lease | null;
  },
): Cursor {
  const { name, leaseKey, held } = options;
  const key = `yard:{channels}:cursor:${name}`;
  return {
    get: () => fromRedis(redis.get(key)),
    async set(value) {
      if (value.length > MAX_LENGTH)
        throw new RangeError(`a cursor has ${MAX_LENGTH} characters at most`);
      const lease = held();
      const done =
        lease !== null &&
        (await fromRedis(redis.eval(SET, 2, key, leaseKey, value, lease.owner, lease.epoch))) === 1;
      if (!done) throw new Error(`the inbound connection of ${name} is another replica's`);
    },
  };
}

import { ESSENTIAL } from "@switchyard/service/essential-write";
import type { Redis } from "@switchyard/service/redis";
import { fromRedis } from "@switchyard/service/store-error";

/** Our own again means that an answer was lost. KEYS: the lease, its epoch. ARGV: owner, length in milliseconds. */
const TAKE = `${ESSENTIAL}
local held = redis.call("HMGET", KEYS[1], "owner", "epoch")
if held[1] == ARGV[1] and held[2] == ARGV[3] then
  redis.call("PEXPIRE", KEYS[1], ARGV[2])
  return tonumber(held[2])
end
if held[1] and held[1] ~= ARGV[1] then return false end
local epoch = redis.call("INCR", KEYS[2])
redis.call("HSET", KEYS[1], "owner", ARGV[1], "epoch", epoch)
redis.call("PEXPIRE", KEYS[1], ARGV[2])
return epoch`;

const GIVE = `
local held = redis.call("HMGET", KEYS[1], "owner", "epoch")
if held[1] ~= ARGV[1] or held[2] ~= ARGV[2] then return 0 end
return redis.call("DEL", KEYS[1])`;

/** The right to an account's inbound connection: one replica has it, and its epoch is higher than that of any before. */
export interface AccountLease {
  readonly owner: string;
  readonly epoch: number;
}

export interface AccountLeases {
  /** Takes or renews the lease; null while another replica has it. Rejects with StoreError. */
  take(name: string, held: AccountLease | null): Promise<AccountLease | null>;
  give(name: string, lease: AccountLease): Promise<void>;
}

export function leaseKey(name: string): string {
  return `yard:{channels}:lease:${name}`;
}

export function createAccountLeases(
  redis: Redis,
  { owner, leaseMs }: { readonly owner: string; readonly leaseMs: number },
): AccountLeases {
  return {
    async take(name, held) {
      const keys = [leaseKey(name), `yard:{channels}:epoch:${name}`];
      const taking = redis.eval(TAKE, 2, ...keys, owner, leaseMs, held?.epoch ?? "");
      const epoch = await fromRedis(taking);
      return typeof epoch === "number" ? { owner, epoch } : null;
    },
    async give(name, { epoch }) {
      await fromRedis(redis.eval(GIVE, 1, leaseKey(name), owner, epoch));
    },
  };
}

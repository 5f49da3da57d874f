import type { Redis } from "@switchyard/service/redis";
import {
  acquireLease,
  releaseLease,
  renewLease,
  type Lease,
  type LeaseKeys,
} from "@switchyard/service/redis-lease";

/** The right to an account's inbound connection: one replica has it. */
export interface AccountLeases {
  /** Takes or renews the lease; null while another replica has it. Rejects with StoreError. */
  take(name: string, held: Lease | null): Promise<Lease | null>;
  give(name: string, lease: Lease): Promise<void>;
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
      const keys = keysOf(name);
      if (held !== null && (await renewLease(redis, keys, { ...held, leaseMs }))) return held;
      return acquireLease(redis, keys, { owner, leaseMs });
    },
    give: (name, lease) => releaseLease(redis, keysOf(name), lease),
  };
}

function keysOf(name: string): LeaseKeys {
  return { lease: leaseKey(name), epoch: `yard:{channels}:epoch:${name}` };
}

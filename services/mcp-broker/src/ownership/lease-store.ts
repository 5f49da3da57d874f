import { REDIS_NOW } from "@switchyard/service/due-list";
import { ESSENTIAL } from "@switchyard/service/essential-write";
import type { Redis } from "@switchyard/service/redis";
import {
  acquireLease,
  HOLDS_LEASE,
  type LeaseKeys,
  releaseLease,
  renewLease,
  takeLock,
} from "@switchyard/service/redis-lease";
import { fromRedis } from "@switchyard/service/store-error";
import { z } from "zod";

export interface HeldLease {
  readonly server: string;
  readonly epoch: number;
}

export interface SeenLease {
  readonly owner: string;
  /** Changes when the owner or its published state changes. */
  readonly stamp: string;
  readonly leftMs: number;
}

const BrokerLoad = z.object({
  owned: z.int().nonnegative(),
  /** The most that it may own. */
  limit: z.int().nonnegative(),
  /** The servers that it owns: the server file of another broker need not name them. */
  servers: z.array(z.string()).readonly().default([]),
});
type BrokerLoad = z.infer<typeof BrokerLoad>;

export interface PresentBroker extends BrokerLoad {
  readonly id: string;
}

const BROKERS_KEY = "yard:{mcp}:brokers";
const TURN_KEY = "yard:{mcp}:move";

/** The text of a long tool list takes a while to write, so that of an earlier version may come later. */
const WRITE = `${ESSENTIAL}${HOLDS_LEASE}
if not holdsLease(KEYS[1], ARGV[1], ARGV[2]) then return 0 end
if tonumber(redis.call("HGET", KEYS[1], "version")) > tonumber(ARGV[3]) then return 1 end
redis.call("HSET", KEYS[1], "version", ARGV[3], "text", ARGV[4])
return 1`;

const LOOK = `
local held = redis.call("HMGET", KEYS[1], "owner", "epoch", "version")
if not held[1] then return false end
return {held[1], held[2] .. "." .. held[3], redis.call("PTTL", KEYS[1])}`;

/** A broker without a sign of life for the length of a lease is left out and deleted. */
const BEAT = `${ESSENTIAL}${REDIS_NOW}
redis.call("HSET", KEYS[1], ARGV[1], now .. " " .. ARGV[2])
local present = {}
local all = redis.call("HGETALL", KEYS[1])
for i = 1, #all, 2 do
  local at, load = string.match(all[i + 1], "^(%d+) (.*)$")
  if not at or now - tonumber(at) > tonumber(ARGV[3]) then redis.call("HDEL", KEYS[1], all[i])
  else present[#present + 1] = all[i]; present[#present + 1] = load end
end
return present`;

export type LeaseStore = ReturnType<typeof createLeaseStore>;

/**
 * One lease for each server: `yard:{mcp:<server>}:lease` with its owner, its epoch and the state that the owner publishes of the
 * server, gone when the owner stops renewing. The epoch is counted beside it and outlives every lease, so a later owner always
 * has a higher one. Every write names owner and epoch. The present brokers, and how much each has, are stored beside the leases
 * for fair shares; no lease depends on it. Rejects with StoreError.
 */
export function createLeaseStore(redis: Redis, self: string) {
  return {
    /** Claims each lease that is free; null for the others. */
    async acquire(
      servers: readonly string[],
      leaseMs: number,
    ): Promise<readonly (number | null)[]> {
      const claim = { owner: self, leaseMs, fields: ["version", 0] };
      const claims = servers.map((server) => acquireLease(redis, keysOf(server), claim));
      return (await Promise.all(claims)).map((lease) => lease?.epoch ?? null);
    },
    /** False for a lease that is not ours any more. */
    renew(leases: readonly HeldLease[], leaseMs: number): Promise<readonly boolean[]> {
      const renewals = leases.map(({ server, epoch }) =>
        renewLease(redis, keysOf(server), { owner: self, epoch, leaseMs }),
      );
      return Promise.all(renewals);
    },
    release({ server, epoch }: HeldLease): Promise<void> {
      return releaseLease(redis, keysOf(server), { owner: self, epoch });
    },
    /** Publishes the state of the server to the other brokers; false when the lease is not ours any more. */
    async write(
      { server, epoch }: HeldLease,
      { version, text }: { version: number; text: string },
    ): Promise<boolean> {
      const { lease } = keysOf(server);
      return (await fromRedis(redis.eval(WRITE, 1, lease, self, epoch, version, text))) === 1;
    },
    async look(servers: readonly string[]): Promise<readonly (SeenLease | null)[]> {
      const looks = servers.map((server) => redis.eval(LOOK, 1, keysOf(server).lease));
      return (await fromRedis(Promise.all(looks))).map(seenLease);
    },
    /** The text of a lease with its version, or null when there is no lease. */
    async read(server: string): Promise<{ readonly stamp: string; readonly text: string } | null> {
      const reading = redis.hmget(keysOf(server).lease, "epoch", "version", "text");
      const [epoch, version, text = null] = await fromRedis(reading);
      return text === null ? null : { stamp: `${epoch}.${version}`, text };
    },
    /** Records that this broker is present, and returns all that did so within the length of a lease. */
    async beat(load: BrokerLoad, leaseMs: number): Promise<readonly PresentBroker[]> {
      const answer = redis.eval(BEAT, 1, BROKERS_KEY, self, JSON.stringify(load), leaseMs);
      return presentBrokers(await fromRedis(answer));
    },
    async leave(): Promise<void> {
      await fromRedis(redis.hdel(BROKERS_KEY, self));
    },
    /** True for one broker in each interval: the one that may move a server now. */
    takeTurn(intervalMs: number): Promise<boolean> {
      return takeLock(redis, TURN_KEY, { holder: self, forMs: intervalMs });
    },
  };
}

function keysOf(server: string): LeaseKeys {
  return { lease: `yard:{mcp:${server}}:lease`, epoch: `yard:{mcp:${server}}:epoch` };
}

function seenLease(answer: unknown): SeenLease | null {
  if (!Array.isArray(answer)) return null;
  const [owner, stamp, leftMs] = answer;
  return { owner: String(owner), stamp: String(stamp), leftMs: Number(leftMs) };
}

function presentBrokers(answer: unknown): PresentBroker[] {
  const fields = Array.isArray(answer) ? answer.map(String) : [];
  const brokers: PresentBroker[] = [];
  for (let index = 0; index + 1 < fields.length; index += 2) {
    const load = BrokerLoad.safeParse(JSON.parse(fields[index + 1] ?? "null"));
    if (load.success) brokers.push({ id: fields[index] ?? "", ...load.data });
  }
  return brokers;
}

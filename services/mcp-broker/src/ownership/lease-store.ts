import { ESSENTIAL, essentialWrite } from "@switchyard/service/essential-write";
import type { Redis } from "@switchyard/service/redis";
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

/** Our own lease in the way means that the answer to the first request was lost: a new epoch is safe. */
const ACQUIRE = `${ESSENTIAL}
local owner = redis.call("HGET", KEYS[1], "owner")
if owner and owner ~= ARGV[1] then return false end
local epoch = redis.call("INCR", KEYS[2])
redis.call("DEL", KEYS[1])
redis.call("HSET", KEYS[1], "owner", ARGV[1], "epoch", epoch, "version", 0)
redis.call("PEXPIRE", KEYS[1], ARGV[2])
return epoch`;

const IF_OURS = `
local held = redis.call("HMGET", KEYS[1], "owner", "epoch")
if held[1] ~= ARGV[1] or held[2] ~= ARGV[2] then return 0 end`;

const RENEW = `${IF_OURS}
return redis.call("PEXPIRE", KEYS[1], ARGV[3])`;

const RELEASE = `${IF_OURS}
return redis.call("DEL", KEYS[1])`;

/** The text of a long tool list takes a while to write, so that of an earlier version may come later. */
const WRITE = `${ESSENTIAL}${IF_OURS}
if tonumber(redis.call("HGET", KEYS[1], "version")) > tonumber(ARGV[3]) then return 1 end
redis.call("HSET", KEYS[1], "version", ARGV[3], "text", ARGV[4])
return 1`;

const LOOK = `
local held = redis.call("HMGET", KEYS[1], "owner", "epoch", "version")
if not held[1] then return false end
return {held[1], held[2] .. "." .. held[3], redis.call("PTTL", KEYS[1])}`;

/** A broker without a sign of life for the length of a lease is left out and deleted. */
const BEAT = `${ESSENTIAL}
local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
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
  /**
   * Sends all at once, and not as a pipeline, whose keys have to be on one server of a cluster; one failed command fails the
   * whole request.
   */
  const ask = (commands: (string | number)[][]): Promise<unknown[]> =>
    fromRedis(Promise.all(commands.map(([name = "", ...args]) => redis.call(`${name}`, ...args))));
  const own = (script: string, { server, epoch }: HeldLease, ...more: (string | number)[]) => [
    "eval",
    script,
    1,
    leaseKey(server),
    self,
    epoch,
    ...more,
  ];
  return {
    /** Claims each lease that is free; null for the others. */
    async acquire(
      servers: readonly string[],
      leaseMs: number,
    ): Promise<readonly (number | null)[]> {
      const answers = await ask(
        servers.map((server) => [
          "eval",
          ACQUIRE,
          2,
          leaseKey(server),
          epochKey(server),
          self,
          leaseMs,
        ]),
      );
      return answers.map((epoch) => (typeof epoch === "number" ? epoch : null));
    },
    /** False for a lease that is not ours any more. */
    async renew(leases: readonly HeldLease[], leaseMs: number): Promise<readonly boolean[]> {
      const answers = await ask(leases.map((lease) => own(RENEW, lease, leaseMs)));
      return answers.map((answer) => answer === 1);
    },
    async release(lease: HeldLease): Promise<void> {
      await ask([own(RELEASE, lease)]);
    },
    /** Publishes the state of the server to the other brokers; false when the lease is not ours any more. */
    async write(lease: HeldLease, note: { version: number; text: string }): Promise<boolean> {
      const { version, text } = note;
      return (await ask([own(WRITE, lease, version, text)]))[0] === 1;
    },
    async look(servers: readonly string[]): Promise<readonly (SeenLease | null)[]> {
      const answers = await ask(servers.map((server) => ["eval", LOOK, 1, leaseKey(server)]));
      return answers.map(seenLease);
    },
    /** The text of a lease with its version, or null when there is no lease. */
    async read(server: string): Promise<{ readonly stamp: string; readonly text: string } | null> {
      const [answer] = await ask([["hmget", leaseKey(server), "epoch", "version", "text"]]);
      const [epoch, version, text] = Array.isArray(answer) ? answer : [];
      return typeof text === "string" ? { stamp: `${epoch}.${version}`, text } : null;
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
    async takeTurn(intervalMs: number): Promise<boolean> {
      const taking = ["set", TURN_KEY, self, "PX", Math.ceil(intervalMs), "NX"] as const;
      return (await essentialWrite(redis, taking)) === "OK";
    },
  };
}

function leaseKey(server: string): string {
  return `yard:{mcp:${server}}:lease`;
}

function epochKey(server: string): string {
  return `yard:{mcp:${server}}:epoch`;
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

import type { Redis } from "@switchyard/service/redis";
import { fromRedis } from "@switchyard/service/store-error";
import { z } from "zod";

/** Which brokers there are and how much each has, for fair shares. Ownership never rests on it. */
export interface BrokerPresence {
  /** Says that this broker is there, and returns all that are. Rejects with StoreError. */
  beat(load: BrokerLoad): Promise<readonly PresentBroker[]>;
  leave(): Promise<void>;
  /** True for one broker in each interval: the one that may move a server now. */
  takeTurn(intervalMs: number): Promise<boolean>;
}

const BrokerLoad = z.object({
  owned: z.int().nonnegative(),
  /** The most that it may own. */
  limit: z.int().nonnegative(),
  /** Which it owns: the server file of another broker need not name them. */
  servers: z.array(z.string()).readonly().default([]),
});
export type BrokerLoad = z.infer<typeof BrokerLoad>;

export interface PresentBroker extends BrokerLoad {
  readonly id: string;
}

const KEY = "yard:{mcp}:brokers";
const TURN_KEY = "yard:{mcp}:move";

/** A broker that has not been heard of for the length of a lease is left out, and taken out. */
const BEAT = `
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

export function createBrokerPresence(
  redis: Redis,
  { self, leaseMs }: { self: string; leaseMs: number },
): BrokerPresence {
  return {
    async beat(load) {
      const answer = await fromRedis(redis.eval(BEAT, 1, KEY, self, JSON.stringify(load), leaseMs));
      return presentBrokers(answer);
    },
    async leave() {
      await fromRedis(redis.hdel(KEY, self));
    },
    async takeTurn(intervalMs) {
      const taken = await fromRedis(redis.set(TURN_KEY, self, "PX", Math.ceil(intervalMs), "NX"));
      return taken === "OK";
    },
  };
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

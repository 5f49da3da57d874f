import type { Principal } from "@switchyard/contracts/policy/policy";
import type { Redis } from "@switchyard/service/redis";
import { fromRedis } from "@switchyard/service/store-error";

/** Limits how often a run may request approval of people: a person who is prompted too often approves without reading. */
export interface PromptLimit {
  readonly limit: number;
  readonly perMs: number;
  /** Counts one more prompt; false when the limit is reached. */
  take(principal: Principal): Promise<boolean>;
}

const PER_MS = 60 * 60 * 1_000;

/** KEYS: counter. ARGV: window in milliseconds, limit. */
const TAKE = `
local count = tonumber(redis.call("GET", KEYS[1]) or "0")
if count >= tonumber(ARGV[2]) then return 0 end
redis.call("INCR", KEYS[1])
if count == 0 then redis.call("PEXPIRE", KEYS[1], ARGV[1]) end
return 1
`;

/** Creates the limit: `limit` prompts in an hour for each run, or for each user who calls without one. */
export function createPromptLimit(redis: Redis, limit: number): PromptLimit {
  return {
    limit,
    perMs: PER_MS,
    async take({ runId, user }) {
      const key = `yard:approval-prompts:{${runId === null ? `user ${user}` : `run ${runId}`}}`;
      return (await fromRedis(redis.eval(TAKE, 1, key, PER_MS, limit))) === 1;
    },
  };
}

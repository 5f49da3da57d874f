import type { Redis } from "@switchyard/service/redis";
import { defineScripts } from "../journal/redis-scripts.ts";
import { ESSENTIAL } from "@switchyard/service/essential-write";

/** The limits of one credential of one provider, for all runners together. */
export interface ProviderScope {
  /** The provider and a digest of its credential. */
  readonly key: string;
  /** Null: the file names no limit; a provider's Retry-After is honoured all the same. */
  readonly requestsPerMinute: number | null;
  readonly tokensPerMinute: number | null;
}

type Permit =
  | { readonly granted: true; readonly tokens: number }
  | { readonly granted: false; readonly waitMs: number };

/** Keeps all runners together within a provider's limits. Its methods reject with StoreError. */
export interface ProviderLimiter {
  /** Requests a permit for one call of about so many tokens. */
  take(scope: ProviderScope, tokens: number): Promise<Permit>;
  /** Reports how much the request used in the end; 0 for one that failed. */
  settle(scope: ProviderScope, taken: number, used: number): Promise<void>;
  /** Blocks all requests until the time that the provider named. */
  pause(scope: ProviderScope, ms: number): Promise<void>;
}

/** A provider that demands a longer pause is called again after this time. */
const LONGEST_PAUSE_MS = 3_600_000;

export function openProviderLimiter(redis: Redis): ProviderLimiter {
  const run = defineScripts(redis, {
    yardLimitTake: TAKE,
    yardLimitSettle: SETTLE,
    yardLimitPause: PAUSE,
  });
  return {
    async take(scope, tokens) {
      const [wait, taken] = await run(
        "yardLimitTake",
        [keyOf(scope)],
        [...rates(scope), Math.ceil(tokens)],
      );
      const waitMs = Number(wait);
      return waitMs > 0 ? { granted: false, waitMs } : { granted: true, tokens: Number(taken) };
    },
    async settle(scope, taken, used) {
      if (scope.tokensPerMinute === null) return;
      await run("yardLimitSettle", [keyOf(scope)], [...rates(scope), taken, used]);
    },
    async pause(scope, ms) {
      const longest = Math.ceil(Math.min(ms, LONGEST_PAUSE_MS));
      await run("yardLimitPause", [keyOf(scope)], [...rates(scope), longest]);
    },
  };
}

function keyOf({ key }: ProviderScope): string {
  return `yard:limit:{${key}}`;
}

function rates({ requestsPerMinute, tokensPerMinute }: ProviderScope): [number, number] {
  return [requestsPerMinute ?? 0, tokensPerMinute ?? 0];
}

/**
 * The buckets of one provider and credential, shared by all runners: requests and tokens that are left (refilled within a
 * minute), and a time before which no runner may send a request. One hash, so one slot: `requests`, `tokens`, `at` (ms, by
 * Redis' clock), `pausedUntil`.
 */

const BUCKETS = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local rpm, tpm = tonumber(ARGV[1]), tonumber(ARGV[2])
local kept = redis.call('HMGET', KEYS[1], 'requests', 'tokens', 'at', 'pausedUntil')
local passed = math.max(0, now - tonumber(kept[3] or now))
local requests = math.min(rpm, tonumber(kept[1] or rpm) + passed * rpm / 60000)
local tokens = math.min(tpm, tonumber(kept[2] or tpm) + passed * tpm / 60000)
local pausedUntil = tonumber(kept[4] or 0)
local function keep()
  redis.call('HSET', KEYS[1], 'requests', string.format('%.6f', requests), 'tokens',
    string.format('%.6f', tokens), 'at', now, 'pausedUntil', pausedUntil)
  -- A bucket that owes tokens may need longer than a minute to fill up.
  local owed = tpm > 0 and math.max(0, -tokens) * 60000 / tpm or 0
  redis.call('PEXPIRE', KEYS[1], math.ceil(120000 + owed + math.max(0, pausedUntil - now)))
end
`;

/**
 * Takes one request and some tokens, or returns how long to wait. More tokens than a minute has are taken as a whole minute.
 * KEYS buckets · ARGV requests and tokens a minute (0: no limit), tokens
 */
const TAKE = `${BUCKETS}
local want = math.min(tonumber(ARGV[3]), tpm)
local wait = math.max(0, pausedUntil - now)
if rpm > 0 and requests < 1 then wait = math.max(wait, math.ceil((1 - requests) * 60000 / rpm)) end
if tpm > 0 and tokens < want then wait = math.max(wait, math.ceil((want - tokens) * 60000 / tpm)) end
if wait == 0 then
  requests = math.max(0, requests - 1)
  tokens = tokens - want
  keep()
end
return {string.format('%.0f', wait), string.format('%.0f', want)}
`;

/**
 * Replaces the reserved tokens by the used ones. The debt is limited to what refills within an hour, however much a provider
 * reports as used. KEYS buckets · ARGV requests, tokens a minute, tokens taken, used
 */
const SETTLE = `${ESSENTIAL}${BUCKETS}
if tpm > 0 then
  tokens = math.min(tpm, math.max(-60 * tpm, tokens + tonumber(ARGV[3]) - tonumber(ARGV[4])))
  keep()
end
return {'ok'}
`;

/** Blocks all requests for a while, as the provider demanded. KEYS buckets · ARGV requests, tokens a minute, ms */
const PAUSE = `${ESSENTIAL}${BUCKETS}
pausedUntil = math.max(pausedUntil, now + tonumber(ARGV[3]))
keep()
return {'ok'}
`;

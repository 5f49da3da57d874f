import type { Redis } from "@switchyard/service/redis";
import { defineScripts } from "../journal/redis-scripts.ts";
import { PAUSE, SETTLE, TAKE } from "./limiter-scripts.ts";

/** The limits of one credential of one provider, for all runners together. */
export interface ProviderScope {
  /** The provider and a digest of its credential. */
  readonly key: string;
  /** Null: the file names no limit; a provider's Retry-After is honoured all the same. */
  readonly requestsPerMinute: number | null;
  readonly tokensPerMinute: number | null;
}

export type Permit =
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

import { backoffMs } from "@switchyard/contracts/backoff";
import { setTimeout as delay } from "node:timers/promises";
import { ServiceError } from "@switchyard/contracts/errors";
import type { ClientInterceptor } from "./interceptor.ts";

const BACKOFF = { firstMs: 20, mostMs: 2_560 };
/** The attempts and their pauses take 2.5 s on average: a service that is overloaded for longer is not busy but too small. */
const ATTEMPTS = 8;

/**
 * Retries calls that a service rejected as `overloaded`: it did nothing, and has room within milliseconds. Pauses double from
 * 20 ms on and are spread by `random`; an abort of the call's signal ends them with the signal's reason. After the last attempt the call
 * rejects with `overloaded`, and at once when it has an attachment, whose bytes may come only once.
 */
export function retryOverloaded(random: () => number): ClientInterceptor {
  return (next) => async (call) => {
    const { attachment, signal } = call.options;
    const attempts = attachment === undefined ? ATTEMPTS : 1;
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await next(call);
      } catch (error) {
        const isOverloaded = error instanceof ServiceError && error.code === "overloaded";
        if (!isOverloaded || attempt === attempts) throw error;
      }
      // Requests that were rejected together do not all retry at once.
      const pauseMs = backoffMs(attempt, BACKOFF) * (0.5 + random());
      await delay(pauseMs, undefined, signal === undefined ? {} : { signal }).catch(() =>
        signal?.throwIfAborted(),
      );
    }
  };
}

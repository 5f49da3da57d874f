import { constant } from "./constant.ts";

/**
 * The time for the first connection to NATS and to Redis, and for streams that are missing. It is long, because these often start
 * later than a service, which states in its readiness what it waits for.
 */
export function connectTimeoutMs(): number {
  return constant("connectMs", 3_600_000);
}

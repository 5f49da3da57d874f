import { ServiceError } from "@switchyard/contracts/errors";
import { isOfConnection, storeErrorOf } from "./store-error.ts";

/** Failures of a request that never reached a handler, or whose reply was lost. */
const OUTAGE_CODES: ReadonlySet<string> = new Set([
  "disconnected",
  "no_responders",
  "timeout",
  "deadline_exceeded",
  "overloaded",
]);
/** Classes of @nats-io/transport-node and of aborted operations. */
const OUTAGE_NAMES: ReadonlySet<string> = new Set([
  "AbortError",
  "ClosedConnectionError",
  "ConnectionError",
  "DrainingConnectionError",
  "NoRespondersError",
  "RequestError",
  "TimeoutError",
]);
const UNDICI_CODE = /^UND_ERR_/;
const MOST_CAUSES = 5;

/**
 * True when a promise that no code awaits was rejected because a connection was lost, a reply was late or an operation was aborted. Then
 * only that operation failed and no state in memory depends on it, so the process continues; a restart would not bring the connection
 * back. Any other reason is taken for a mistake of the program, whose process ends in order.
 */
export function isOfOutage(reason: unknown): boolean {
  let error = reason;
  for (let depth = 0; depth < MOST_CAUSES && error instanceof Error; depth += 1) {
    if (storeErrorOf(error) !== null || isOfConnection(error)) return true;
    if (error instanceof ServiceError && OUTAGE_CODES.has(error.code)) return true;
    if (OUTAGE_NAMES.has(error.name)) return true;
    if ("code" in error && typeof error.code === "string" && UNDICI_CODE.test(error.code))
      return true;
    error = error.cause;
  }
  return false;
}

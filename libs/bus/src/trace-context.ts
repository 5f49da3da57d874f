import { randomHex } from "./random-hex.ts";

// https://www.w3.org/TR/trace-context/#traceparent-header-field-values
const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
const SAMPLED = "01";
const UNSAMPLED = "00";

/** True for a valid header: version 00, ids that are not all zero. */
export function isTraceparent(value: string): boolean {
  return TRACEPARENT.test(value);
}

/** The root of a new trace, in W3C `traceparent` form. */
export function newTraceparent(): string {
  return `00-${randomHex(31)}1-${randomHex(15)}1-${SAMPLED}`;
}

/** The root of a trace that is not to be recorded. */
export function unsampledTraceparent(): string {
  return `${newTraceparent().slice(0, -2)}${UNSAMPLED}`;
}

/**
 * A new span in the trace of `traceparent`, with its flags. One that is missing or that is not a
 * valid `traceparent` starts a new trace, as the specification asks.
 */
export function childTraceparent(traceparent: string | undefined): string {
  if (traceparent === undefined || !isTraceparent(traceparent)) return newTraceparent();
  return `${traceparent.slice(0, 36)}${randomHex(15)}1${traceparent.slice(52)}`;
}

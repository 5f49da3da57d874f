const FIRST_MS = 1_000;
const MOST_MS = 8_000;

/** Returns the delay after the `attempt`-th delivery of a message failed (from 1): 1 s, doubling, at most 8 s. */
export function retryDelayMs(attempt: number): number {
  return Math.min(MOST_MS, FIRST_MS * 2 ** Math.min(Math.max(0, attempt - 1), 16));
}

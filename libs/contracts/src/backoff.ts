/** A pause that doubles with each failure in a row. */
export interface Backoff {
  /** The pause after the first failure, in milliseconds. */
  readonly firstMs: number;
  /** The longest pause, in milliseconds. */
  readonly mostMs: number;
}

/** Beyond it every cap decides, and the power must not overflow. */
const MOST_DOUBLINGS = 30;

/**
 * Returns the pause after the `failures`-th failure in a row (from 1), in milliseconds: `firstMs`, doubling, at most `mostMs`. Callers whose
 * repeats could meet multiply it by a random factor.
 */
export function backoffMs(failures: number, { firstMs, mostMs }: Backoff): number {
  const doublings = Math.min(Math.max(0, failures - 1), MOST_DOUBLINGS);
  return Math.min(mostMs, firstMs * 2 ** doublings);
}

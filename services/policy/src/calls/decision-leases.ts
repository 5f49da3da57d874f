/**
 * The guarantee behind a decision that a tool provider caches: no other rules come into force before its lease has ended. So once
 * new rules are in force, no provider uses a decision of the old ones, without a message that could be lost.
 */
export interface DecisionLeases {
  /**
   * Returns how long a decision made now may be cached, in milliseconds from now; null while rules are being changed. Decide and
   * grant in the same turn of the event loop.
   */
  grant(atMostMs: number): number | null;
  /** Stops granting leases; resolves when all leases have ended. */
  withdraw(): Promise<void>;
  /** Grants again. */
  resume(): void;
}

/** Short enough that waiting for its end is no burden, long enough to save nearly all decision requests under load. */
const LEASE_MS = 500;
/** Clock rates differ between machines, but by far less than 10 %. */
const CLOCK_MARGIN = 1.1;

/** The longest time for which cached decisions of an ended process may still be in use. */
export const LONGEST_LEASE_MS = LEASE_MS * CLOCK_MARGIN;

/** Creates the leases; `now` is in milliseconds of a monotonic clock, and `wait` may resolve too soon. */
export function createDecisionLeases(options: {
  readonly now: () => number;
  readonly wait: (ms: number) => Promise<unknown>;
}): DecisionLeases {
  const { now, wait } = options;
  let isWithdrawn = false;
  let lastEnd = Number.NEGATIVE_INFINITY;
  return {
    grant(atMostMs) {
      const forMs = Math.floor(Math.min(LEASE_MS, atMostMs));
      if (isWithdrawn || forMs < 1) return null;
      lastEnd = Math.max(lastEnd, now() + forMs * CLOCK_MARGIN);
      return forMs;
    },
    async withdraw() {
      isWithdrawn = true;
      for (let left = lastEnd - now(); left > 0; left = lastEnd - now())
        await wait(Math.ceil(left));
    },
    resume() {
      isWithdrawn = false;
    },
  };
}

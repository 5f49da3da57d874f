/**
 * The promise behind a decision that a tool provider keeps: no other rules come into force before
 * the time that it was given is over. So whoever learns that new rules are in force knows that
 * nobody uses a decision of the old ones any more, without a message that could be lost.
 */
export interface DecisionLeases {
  /**
   * For how long a decision made now may be kept, in milliseconds, counted from now; null while
   * rules are being changed. Decide and grant in the same turn of the event loop.
   */
  grant(atMostMs: number): number | null;
  /** Grants nothing more; resolves when everything that was granted is over. */
  withdraw(): Promise<void>;
  /** Grants again. */
  resume(): void;
}

/** Short enough that nobody minds to wait for it, long enough to spare nearly all questions under load. */
const LEASE_MS = 500;
/** Two clocks of two machines do not run alike; nobody's is wrong by a tenth. */
const CLOCK_MARGIN = 1.1;

/** The longest time for which decisions of a process that is gone may still be in use. */
export const LONGEST_LEASE_MS = LEASE_MS * CLOCK_MARGIN;

/** `now` in milliseconds, of a clock that does not go back; `wait` may come back too soon. */
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

/** What a broker knows of time: neither clock alone tells how long it was away. */
export interface Instant {
  /** Monotonic; goes on while the process is stopped. */
  readonly monotonicMs: number;
  /** Goes on while the whole machine sleeps, which the other one need not. */
  readonly wallMs: number;
}

export function instant(): Instant {
  return { monotonicMs: performance.now(), wallMs: Date.now() };
}

/** The longer of the two: believing too much time gone costs a reconnect, too little costs exclusiveness. */
export function elapsedMs(since: Instant, now: Instant): number {
  return Math.max(now.monotonicMs - since.monotonicMs, now.wallMs - since.wallMs);
}

export type LeaseTimes = ReturnType<typeof leaseTimes>;

export function leaseTimes(leaseMs: number) {
  return {
    leaseMs,
    renewMs: leaseMs / 3,
    /**
     * How long a broker trusts its lease after it sent the renewal. The third that is left is for
     * clocks that run unlike, and for a last renewal that Redis lost in a crash.
     */
    trustMs: (leaseMs * 2) / 3,
    /** How often it looks whether something has to be done, and tries a renewal that failed again. */
    tickMs: leaseMs / 6,
    /** How long a server stays free for brokers with fewer servers before the others take it. */
    hesitationMs: leaseMs / 20,
    /** Brokers see a lease end at the same moment; this spreads their claims. */
    jitterMs: leaseMs / 50,
  } as const;
}

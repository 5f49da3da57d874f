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

export interface LeaseTimes {
  readonly leaseMs: number;
  readonly renewMs: number;
  /**
   * How long a broker trusts its lease after it sent the renewal. The third that is left is for
   * clocks that run unlike, and for a last renewal that Redis lost in a crash.
   */
  readonly trustMs: number;
  /** How often it looks whether something has to be done, and tries a renewal that failed again. */
  readonly tickMs: number;
  /** How long a server stays free for brokers with fewer servers before the others take it. */
  readonly hesitationMs: number;
  /** Brokers see a lease end at the same moment; this spreads their claims. */
  readonly jitterMs: number;
}

export function leaseTimes(leaseMs: number): LeaseTimes {
  return {
    leaseMs,
    renewMs: leaseMs / 3,
    trustMs: (leaseMs * 2) / 3,
    tickMs: leaseMs / 6,
    hesitationMs: leaseMs / 20,
    jitterMs: leaseMs / 50,
  };
}

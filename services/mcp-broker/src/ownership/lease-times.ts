/** A moment on both clocks of a broker: neither clock alone shows how long it was stopped. */
export interface Instant {
  /** Monotonic; continues while the process is stopped. */
  readonly monotonicMs: number;
  /** Continues while the whole machine sleeps, which the other one need not. */
  readonly wallMs: number;
}

export function instant(): Instant {
  return { monotonicMs: performance.now(), wallMs: Date.now() };
}

/** The longer of the two: overestimating the elapsed time costs a reconnect, underestimating it costs exclusiveness. */
export function elapsedMs(since: Instant, now: Instant): number {
  return Math.max(now.monotonicMs - since.monotonicMs, now.wallMs - since.wallMs);
}

export type LeaseTimes = ReturnType<typeof leaseTimes>;

export function leaseTimes(leaseMs: number) {
  return {
    leaseMs,
    renewMs: leaseMs / 3,
    /**
     * A broker trusts its lease for this time after it sent the renewal. The remaining third covers different clock rates, and a last
     * renewal that Redis lost in a crash.
     */
    trustMs: (leaseMs * 2) / 3,
    /** The interval at which it checks for due work, and retries a renewal that failed. */
    tickMs: leaseMs / 6,
    /** A server stays free for brokers with fewer servers for this time before the others claim it. */
    hesitationMs: leaseMs / 20,
    /** Brokers see a lease end at the same moment; this spreads their claims. */
    jitterMs: leaseMs / 50,
  } as const;
}

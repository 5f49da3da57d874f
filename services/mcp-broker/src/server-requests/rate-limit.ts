export type RateLimit = ReturnType<typeof createRateLimit>;

/** So many a minute, in a sliding window: between any two moments a minute apart there are at most `perMinute`. */
export function createRateLimit(perMinute: number, now: () => number) {
  const taken: number[] = [];
  return {
    /** Takes one of them; false when there is none left. */
    take(): boolean {
      const at = now();
      while (taken.length > 0 && (taken[0] ?? at) <= at - 60_000) taken.shift();
      if (taken.length >= perMinute) return false;
      taken.push(at);
      return true;
    },
  };
}

/**
 * Returns how many crash schedules a test draws, and from which seed: in CI a few; by hand as many as YARD_CRASH_SCHEDULES sets,
 * and with YARD_CRASH_SEED those of a failure, which prints its seed.
 */
export function crashDraws(inCi: number): { numRuns: number; seed?: number } {
  const { YARD_CRASH_SCHEDULES: wanted, YARD_CRASH_SEED: seed } = process.env;
  return {
    numRuns: wanted === undefined ? inCi : Number(wanted),
    ...(seed === undefined ? {} : { seed: Number(seed) }),
  };
}

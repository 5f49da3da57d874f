/**
 * How many crash schedules a test draws, and from which seed. In CI a few; by hand as many as YARD_CRASH_SCHEDULES says,
 * and those of YARD_CRASH_SEED, as a failure names it, once more.
 */
export function crashDraws(inCi: number): { numRuns: number; seed?: number } {
  const { YARD_CRASH_SCHEDULES: wanted, YARD_CRASH_SEED: seed } = process.env;
  return {
    numRuns: wanted === undefined ? inCi : Number(wanted),
    ...(seed === undefined ? {} : { seed: Number(seed) }),
  };
}

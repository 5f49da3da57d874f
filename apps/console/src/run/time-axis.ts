const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** Distances that people read easily, in milliseconds. */
const STEPS = [
  1,
  2,
  5,
  10,
  20,
  50,
  100,
  200,
  500,
  ...[1, 2, 5, 10, 15, 30].map((n) => n * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((n) => n * MINUTE),
  ...[1, 2, 4, 8, 12].map((n) => n * HOUR),
  ...[1, 2, 5, 10, 20, 50].map((n) => n * DAY),
];
const MOST_TICKS = 6;

/** Where an axis of so many milliseconds has its marks: at most six, from 0 on, a round distance apart. */
export function ticksOf(longMs: number): readonly number[] {
  const stepMs = STEPS.find((step) => longMs / step < MOST_TICKS) ?? longMs;
  return Array.from({ length: Math.floor(longMs / stepMs) + 1 }, (_, index) => index * stepMs);
}

/** What stands at a mark: `0`, `200 ms`, `15 s`, `2 min`, `4 h`, `3 d`. */
export function tickText(ms: number): string {
  if (ms === 0) return "0";
  const [one, unit] =
    ms % DAY === 0
      ? [DAY, "d"]
      : ms % HOUR === 0
        ? [HOUR, "h"]
        : ms % MINUTE === 0
          ? [MINUTE, "min"]
          : ms % SECOND === 0
            ? [SECOND, "s"]
            : [1, "ms"];
  return `${ms / one} ${unit}`;
}

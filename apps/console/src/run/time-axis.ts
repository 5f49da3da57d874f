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
/** Average letter width of an axis's 12 px text, and the gap required between two texts. */
const LETTER_PX = 8;
const BETWEEN_PX = 12;

/** Returns the marks of an axis of so many milliseconds: at most six, from 0, at a round distance. */
export function ticksOf(longMs: number): readonly number[] {
  const stepMs = STEPS.find((step) => longMs / step < MOST_TICKS) ?? longMs;
  return Array.from({ length: Math.floor(longMs / stepMs) + 1 }, (_, index) => index * stepMs);
}

/** A mark of an axis; without a text where texts would overlap each other, or the end. */
export interface Tick {
  readonly ms: number;
  readonly text: string | null;
}

/** The marks of an axis that is so wide on the screen. Every mark has a text, or every second one, or every third, and so on. */
export function axisOf(longMs: number, widthPx: number): readonly Tick[] {
  const ticks = ticksOf(longMs);
  const leftOf = (ms: number): number => (ms / longMs) * widthPx;
  const rightOf = (ms: number): number => leftOf(ms) + tickText(ms).length * LETTER_PX + BETWEEN_PX;
  const isRoomFor = (every: number): boolean =>
    ticks.every((ms, index) => {
      const next = ticks[index + every];
      return index % every > 0 || next === undefined || rightOf(ms) <= leftOf(next);
    });
  const every = ticks.findIndex((_, index) => index > 0 && isRoomFor(index));
  return ticks.map((ms, index) => ({
    ms,
    text: (every < 0 ? index : index % every) === 0 && rightOf(ms) <= widthPx ? tickText(ms) : null,
  }));
}

/** The text at a mark, in the largest unit with at most one decimal: `0`, `200 ms`, `1.5 s`, `2 min`, `1.5 h`, `3 d`. */
export function tickText(ms: number): string {
  if (ms === 0) return "0";
  const [one, unit] = UNITS.find(([size]) => ms >= size && (ms * 10) % size === 0) ?? [1, "ms"];
  return `${ms / one} ${unit}`;
}

const UNITS = [
  [DAY, "d"],
  [HOUR, "h"],
  [MINUTE, "min"],
  [SECOND, "s"],
] as const;

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
/** Of the 12 px text of an axis, on average, and what has to be free between two texts. */
const LETTER_PX = 8;
const BETWEEN_PX = 12;

/** Where an axis of so many milliseconds has its marks: at most six, from 0 on, a round distance apart. */
export function ticksOf(longMs: number): readonly number[] {
  const stepMs = STEPS.find((step) => longMs / step < MOST_TICKS) ?? longMs;
  return Array.from({ length: Math.floor(longMs / stepMs) + 1 }, (_, index) => index * stepMs);
}

/** A mark of an axis; without a text where it would stand over another one, or over the end. */
export interface Tick {
  readonly ms: number;
  readonly text: string | null;
}

/** The marks of an axis that is so wide on the screen. */
export function axisOf(longMs: number, widthPx: number): readonly Tick[] {
  let freePx = 0;
  return ticksOf(longMs).map((ms) => {
    const leftPx = (ms / longMs) * widthPx;
    const text = tickText(ms);
    const rightPx = leftPx + text.length * LETTER_PX + BETWEEN_PX;
    if (leftPx < freePx || rightPx > widthPx) return { ms, text: null };
    freePx = rightPx;
    return { ms, text };
  });
}

/** What stands at a mark, in the largest unit with at most one decimal: `0`, `200 ms`, `1.5 s`, `2 min`, `1.5 h`, `3 d`. */
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

/**
 * The only place that cuts texts of people, models and tools; the linter refuses `slice`, `substring` and `substr` with a limit elsewhere
 * (`scripts/lint/text-cuts.ts`). A text that ends in half of a surrogate pair is refused by model providers and by Redis'
 * JSON, again with each request that repeats it. Every result here is well-formed. Limits are in UTF-16 units unless the name has bytes.
 */

/** The longest beginning of a text with at most `limit` units that ends with a whole character. */
export function cutText(text: string, limit: number): string {
  return text.slice(0, text.length <= limit ? undefined : wholeUntil(text, limit)).toWellFormed();
}

/** The longest end of a text with at most `limit` units that begins with a whole character. */
export function cutTextStart(text: string, limit: number): string {
  const start = Math.max(0, text.length - limit);
  return text.slice(isInsidePair(text, start) ? start + 1 : start).toWellFormed();
}

/**
 * A text for a reader, with `…` where it was cut and never inside of a grapheme, such as an emoji of several code points. At most `limit`
 * units, the mark included.
 */
export function cutForReader(text: string, limit: number): string {
  if (text.length <= limit) return text.toWellFormed();
  return `${cutText(text, graphemeStart(text, limit - 1))}…`;
}

/** The longest beginning of a text that has at most `limitBytes` bytes of UTF-8 and ends with a whole character. */
export function cutBytes(text: string, limitBytes: number): string {
  const whole = text.toWellFormed();
  // A UTF-16 unit is at most three bytes, so short texts need no encoding.
  if (whole.length * 3 <= limitBytes) return whole;
  const room = new Uint8Array(Math.max(0, limitBytes));
  // It writes whole characters alone.
  const { read } = new TextEncoder().encodeInto(whole, room);
  return whole.slice(0, read);
}

/** The last position up to `at` that lies between two graphemes. */
export function graphemeStart(text: string, at: number): number {
  if (at <= 0) return 0;
  if (at >= text.length) return text.length;
  // A segmenter reads all that it is given, and no character of people's is longer.
  const from = wholeUntil(text, Math.max(0, at - LONGEST_GRAPHEME));
  const near = text.slice(from, at + LONGEST_GRAPHEME);
  const start = from + (graphemes.segment(near).containing(at - from)?.index ?? at - from);
  // Combining marks without end would leave nothing of the text.
  return start > from ? start : wholeUntil(text, at);
}

const LONGEST_GRAPHEME = 64;
const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" });

function wholeUntil(text: string, at: number): number {
  return isInsidePair(text, at) ? at - 1 : at;
}

function isInsidePair(text: string, at: number): boolean {
  return isBetween(text.charCodeAt(at - 1), 0xd800) && isBetween(text.charCodeAt(at), 0xdc00);
}

function isBetween(unit: number, from: number): boolean {
  return unit >= from && unit < from + 0x400;
}

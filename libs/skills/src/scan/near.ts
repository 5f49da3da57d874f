import type { ScannedText } from "./scanned-text.ts";

/** The longest distance from a match that is read. */
const REACH = 1_200;

/** A part of a text. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Returns the lines around an offset, and of long lines only the part near it. */
export function linesAround(
  text: ScannedText,
  offset: number,
  lines: { before: number; after: number },
): string {
  const { start, end } = spanAround(text, offset, lines);
  return text.text.slice(start, end);
}

/** Returns the span of the lines around an offset. */
export function spanAround(
  text: ScannedText,
  offset: number,
  { before, after }: { before: number; after: number },
): Span {
  const index = text.lineIndexAt(offset);
  return {
    start: Math.max(text.startOf(Math.max(0, index - before)), offset - REACH),
    end: Math.min(text.startOf(index + after + 1), offset + REACH),
  };
}

/** Returns the items that begin in a part of a text; the items are in the order of the text. */
export function beginningIn<T extends { readonly offset: number }>(
  things: readonly T[],
  { start, end }: Span,
): T[] {
  let low = 0;
  let high = things.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((things[middle]?.offset ?? 0) < start) low = middle + 1;
    else high = middle;
  }
  let last = low;
  while ((things[last]?.offset ?? end) < end) last += 1;
  return things.slice(low, last);
}

/** The lines next to an offset, and further ones only where they are code: 0-based indexes. */
export function codeAround(text: ScannedText, offset: number, lines: number): number[] {
  const index = text.lineIndexAt(offset);
  const near: number[] = [];
  const last = Math.min(text.lineCount - 1, index + lines);
  for (let at = Math.max(0, index - lines); at <= last; at += 1) {
    const isCode =
      text.kind !== "markdown" ||
      text.contextAt(at).fence !== null ||
      /^(?: {4}|\t|\s{0,3}>)/.test(text.lineAt(at).slice(0, 8));
    if (isCode || Math.abs(at - index) <= 2) near.push(at);
  }
  return near;
}

/** A command with the text before it on its line, and the lines after it. */
export interface Command {
  readonly before: string;
  /** The text from the offset to the end of its line, with its continuation lines. */
  readonly text: string;
  /** The span of that text. */
  readonly span: Span;
  /** The lines below, where the output of the command may be used. */
  readonly below: string;
}

const GOES_ON = /(?:\\|\||&&|\()\s{0,4}$/;

/** Returns the command that begins at an offset. A line continues after a backslash, a pipe or an `&&` at its end. */
export function commandAt(text: ScannedText, offset: number): Command {
  const whole = text.text;
  const lineStart = text.startOf(text.lineIndexAt(offset));
  const limit = Math.min(whole.length, offset + REACH);
  // A row of a table ends with a pipe, too.
  const goesOn = /^\s{0,8}\|/.test(whole.slice(lineStart, lineStart + 10)) ? /\\\s{0,4}$/ : GOES_ON;
  let end = offset;
  for (let lines = 0; lines < 12; lines += 1) {
    const found = whole.indexOf("\n", end);
    end = found < 0 || found > limit ? limit : found;
    const isGoingOn = goesOn.test(whole.slice(Math.max(offset, end - 8), end));
    if (!isGoingOn || end === limit) break;
    end += 1;
  }
  return {
    before: whole.slice(Math.max(lineStart, offset - 160), offset),
    text: whole.slice(offset, end),
    span: { start: offset, end },
    below: whole.slice(end, Math.min(whole.length, end + REACH)),
  };
}

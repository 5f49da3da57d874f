import type { ScannedText } from "./scanned-text.ts";

/** No line is read further than this from where something was seen. */
const REACH = 1_200;

/** The lines around an offset, and of long ones only what is near. */
export function linesAround(
  text: ScannedText,
  offset: number,
  { before, after }: { before: number; after: number },
): string {
  const index = text.lineIndexAt(offset);
  const start = Math.max(text.startOf(Math.max(0, index - before)), offset - REACH);
  const end = Math.min(text.startOf(index + after + 1), offset + REACH);
  return text.text.slice(start, end);
}

/** The lines next to an offset, and further ones only where they are code. */
export function codeAround(text: ScannedText, offset: number, lines: number): string {
  const index = text.lineIndexAt(offset);
  const near: string[] = [];
  const last = Math.min(text.lineCount - 1, index + lines);
  for (let at = Math.max(0, index - lines); at <= last; at += 1) {
    const line = text.lineAt(at).slice(0, REACH);
    const isCode =
      text.kind !== "markdown" ||
      text.contextAt(at).fence !== null ||
      /^(?: {4}|\t|\s{0,3}>)/.test(line);
    if (isCode || Math.abs(at - index) <= 2) near.push(line);
  }
  return near.join("\n");
}

/** A command with what stands before it on its line, and what follows it. */
export interface Command {
  readonly before: string;
  /** From the offset to the end of its line, with the lines that it goes on to. */
  readonly text: string;
  /** The lines below, where what it left behind may be used. */
  readonly below: string;
}

const GOES_ON = /(?:\\|\||&&|\()\s{0,4}$/;

/** The command that begins at an offset. A line goes on after a backslash, a pipe or an `&&` at its end. */
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
    below: whole.slice(end, Math.min(whole.length, end + REACH)),
  };
}

import { beginningIn, type Span } from "./near.ts";
import { perText, type ScannedText } from "./scanned-text.ts";

/** A part of a sequence, with the longest distance from the part before it. Its pattern captures nothing. */
export interface Step {
  readonly pattern: RegExp;
  readonly within: number;
}

/** Returns where the last steps of sequences begin in a part of a text. */
export type Sequence = (text: ScannedText, part: Span) => number[];

/**
 * Finds steps that follow each other on one line. `a[^
 * ]{0,300}b` reads 300 characters for each `a`, at every check; this reads a text once. `not` matches text that may not occur
 * between the steps.
 */
export function sequence(steps: readonly Step[], not?: RegExp): Sequence {
  const groups = steps.map(({ pattern }) => `(${pattern.source})`);
  const tokens = new RegExp(
    [...groups, ...(not === undefined ? [] : [not.source])].join("|"),
    "gi",
  );
  const found = perText(({ text }) =>
    Array.from(completed(text, tokens, steps), (offset) => ({ offset })),
  );
  return (text, part) => beginningIn(found(text), part).map(({ offset }) => offset);
}

function* completed(text: string, tokens: RegExp, steps: readonly Step[]): Generator<number> {
  /** The end of the last match of the first step, the first two, … */
  let ends: number[] = [];
  for (const match of text.matchAll(tokens)) {
    const index = match.findIndex((group, at) => at > 0 && group !== undefined) - 1;
    const step = steps[index];
    if (step === undefined) {
      ends = [];
      continue;
    }
    const before = index === 0 ? match.index : ends[index - 1];
    if (before === undefined || match.index - before > step.within) continue;
    if (text.slice(before, match.index).includes("\n")) continue;
    ends[index] = match.index + match[0].length;
    if (index === steps.length - 1) yield match.index;
  }
}

/** A text in the form that inspectors read, with the way back to positions of the original. */
export interface FoldedText {
  readonly text: string;
  /** Returns the original's range for a range of the folded text. */
  range(start: number, end: number): { readonly start: number; readonly end: number };
}

/** Digits, blanks and dashes of other scripts, full-width letters, and invisible characters. */
const FOREIGN =
  /[^\P{Nd}0-9]|[^\P{Zs} ]|[^\P{Pd}-]|\u2212|[\uff01-\uff5e]|\p{Cf}|\p{Variation_Selector}|\u034f/gu;
const HAS_FOREIGN = new RegExp(FOREIGN.source, "u");
const UNSEEN = /^(?:\p{Cf}|\p{Variation_Selector}|\u034f)$/u;

/**
 * Writes digits, blanks and dashes of all scripts as ASCII has them, and leaves out invisible characters, so that a value is found
 * however it is written. Letters of other alphabets that look like Latin ones stay.
 */
export function foldText(original: string): FoldedText {
  if (!HAS_FOREIGN.test(original))
    return { text: original, range: (start, end) => ({ start, end }) };
  const shifts: { readonly at: number; readonly by: number }[] = [{ at: 0, by: 0 }];
  const parts: string[] = [];
  let length = 0;
  let by = 0;
  let from = 0;
  const add = (part: string): void => {
    parts.push(part);
    length += part.length;
  };
  for (const { 0: found, index } of original.matchAll(FOREIGN)) {
    add(original.slice(from, index));
    const plain = foldCharacter(found);
    add(plain);
    from = index + found.length;
    if (plain.length === found.length) continue;
    by += found.length - plain.length;
    shifts.push({ at: length, by });
  }
  add(original.slice(from));
  const positionOf = (at: number): number => at + shiftAt(shifts, at);
  return {
    text: parts.join(""),
    range: (start, end) => ({
      start: positionOf(start),
      // Invisible characters behind the last one are not part of the range.
      end: positionOf(end - 1) + sizeAt(original, positionOf(end - 1)),
    }),
  };
}

function shiftAt(
  shifts: readonly { readonly at: number; readonly by: number }[],
  at: number,
): number {
  let low = 0;
  let high = shifts.length - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((shifts[middle]?.at ?? 0) <= at) low = middle;
    else high = middle - 1;
  }
  return shifts[low]?.by ?? 0;
}

function sizeAt(text: string, at: number): number {
  return (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
}

/** Folded characters, of the few thousand that there are. */
const folded = new Map<string, string>();

function foldCharacter(character: string): string {
  const known = folded.get(character);
  if (known !== undefined) return known;
  const made = foldedOf(character);
  folded.set(character, made);
  return made;
}

function foldedOf(character: string): string {
  if (UNSEEN.test(character)) return "";
  if (/\p{Nd}/u.test(character)) return digitOf(character);
  if (/\p{Zs}/u.test(character)) return " ";
  return /[\p{Pd}\u2212]/u.test(character) ? "-" : character.normalize("NFKC");
}

/** Decimal digits of a script follow one another from one whose code ends with 0 or 6 in hexadecimal. */
function digitOf(character: string): string {
  const plain = character.normalize("NFKC");
  if (/^[0-9]$/.test(plain)) return plain;
  const code = plain.codePointAt(0) ?? 0;
  const low = code & 0xf;
  const begins = /\p{Nd}/u.test(String.fromCodePoint(code - low)) && low < 10;
  return String(begins ? low : (low + 10) % 16);
}

/** The effect of the direction controls of one line on the text that a person sees. */
export type BidiEffect =
  /** Letters are displayed in another order than they are read in. */
  | "reorders"
  /** They are named, as in a character class. */
  | "named"
  /** Some are opened and not closed, or closed and not opened. */
  | "unbalanced"
  /** The controls are opened and closed around text, as around a number in right-to-left text. */
  | "balanced";

const RTL = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u;
const LETTERS = /[\p{L}][^\n]{0,40}[\p{L}]/u;
const LTR_LETTERS = /[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Han}]/u;
const [LRE, RLE, PDF, LRO, RLO] = ["\u202A", "\u202B", "\u202C", "\u202D", "\u202E"];
const [LRI, RLI, FSI, PDI] = ["\u2066", "\u2067", "\u2068", "\u2069"];
const EMBEDS = new Set([LRE, RLE, LRO, RLO]);
const ISOLATES = new Set([LRI, RLI, FSI]);
/** All controls there are, each written out. */
export const MAX_NAMED = 9;

/** Checks the controls from `start` to `end` of a line. */
export function bidiEffect(line: string, start: number, end: number): BidiEffect {
  if (isNamed(line, start, end)) return "named";
  let isUnbalanced = false;
  for (let at = start; at < end; at += 1) {
    const control = line.charAt(at);
    const closes = EMBEDS.has(control) ? PDF : ISOLATES.has(control) ? PDI : null;
    if (closes === null) {
      isUnbalanced ||= !isOpened(line.slice(0, at), control === PDF ? EMBEDS : ISOLATES, control);
      continue;
    }
    const close = line.indexOf(closes, at);
    isUnbalanced ||= close < 0;
    const inside = line.slice(at + 1, close < 0 ? undefined : close);
    // An override turns letters round that run the other way by themselves.
    if (control === RLO && LTR_LETTERS.test(inside) && LETTERS.test(inside)) return "reorders";
    if (control === LRO && RTL.test(inside)) return "reorders";
  }
  return isUnbalanced ? "unbalanced" : "balanced";
}

export function hasRightToLeft(line: string): boolean {
  return RTL.test(line);
}

function isOpened(
  before: string,
  openers: ReadonlySet<string | undefined>,
  closer: string,
): boolean {
  let open = 0;
  for (const character of before) {
    if (openers.has(character)) open += 1;
    else if (character === closer) open -= 1;
  }
  return open > 0;
}

/** True within `[…]` that contains only other such characters and their ranges, and no more of them than there are. */
function isNamed(line: string, start: number, end: number): boolean {
  const open = line.lastIndexOf("[", start);
  const close = line.indexOf("]", end);
  if (open < 0 || close < 0 || close - open > 80) return false;
  const inside = line.slice(open + 1, close);
  const controls = inside.match(/[\u202A-\u202E\u2066-\u2069]/g) ?? [];
  const isClass = /^\^?(?:[\u061C\u115F\u1160\u180E\u200B-\u200F\u2028-\u202E\u2060-\u206F\u3164\uFEFF-]|\\[uUx]\{?[\da-fA-F]{2,8}\}?|\\[a-zA-Z])+$/.test(inside); // prettier-ignore
  return (
    isClass &&
    controls.length > 1 &&
    new Set(controls).size === controls.length &&
    controls.length <= MAX_NAMED
  );
}

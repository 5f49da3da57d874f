import { HARD, SOFT, type Check, type Run } from "./unseen-run.ts";

export const ZERO_WIDTH = /[\u180E\u200B-\u200D\u2060-\u2064\uFEFF]/u;
/** This number of bits encodes two letters. */
const MIN_BITS = 16;

const SCATTERS = /^(?:[\u180E\u200B-\u200D\u2060-\u2064\uFEFF]|\p{Variation_Selector}){1,15}$/u;

/** Unseen characters of several kinds, one at a time after letters that need none: each is a bit or more. */
export class Scattered {
  readonly #counts = new Map<string, number>();
  #first: number | null = null;

  take({ start, end }: Run, text: string): void {
    const unseen = text.slice(start, end);
    if (!SCATTERS.test(unseen) || !/[\w ,.]/.test(text[start - 1] ?? "")) return;
    this.#first ??= start;
    this.#counts.set(unseen, (this.#counts.get(unseen) ?? 0) + 1);
  }

  /** Returns the position of the first one; null when there are too few of a second kind. */
  carriesData(): number | null {
    const [most = 0, ...others] = [...this.#counts.values()].toSorted((one, other) => other - one);
    const rest = others.reduce((sum, count) => sum + count, 0);
    return rest >= MIN_BITS && most + rest >= 2 * MIN_BITS ? this.#first : null;
  }
}

/**
 * Persian, Indic scripts and emoji need some; a few come from copying, and trailing ones from mail. Only several
 * kinds in one long run can carry text. Between Latin letters they hide a word.
 */
export function zeroWidth(run: Run, text: string): ReturnType<Check> {
  const unseen = text.slice(run.start, run.end);
  if (run.count >= MIN_BITS && new Set(unseen).size > 1) {
    return {
      ...HARD,
      code: "zero_width_text",
      message: "a run of zero-width characters that can carry hidden text",
    };
  }
  const isInWord =
    /[A-Za-z]/.test(text[run.start - 1] ?? "") && /[A-Za-z]/.test(text[run.end] ?? "");
  if (isInWord) {
    return {
      ...SOFT,
      code: "zero_width_in_word",
      message: "a zero-width character inside of a word, which hides it from searches",
    };
  }
  if (run.count >= 8) {
    return { ...SOFT, code: "zero_width", message: "a long run of zero-width characters" };
  }
  const isJoiner = run.count === 1 && /[\u200C\u200D]/.test(unseen);
  return isJoiner
    ? null
    : {
        ...SOFT,
        code: "zero_width",
        severity: "info",
        confidence: "low",
        message: "zero-width characters",
      };
}

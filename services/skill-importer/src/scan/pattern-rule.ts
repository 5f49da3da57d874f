import type { ScanFinding } from "@switchyard/contracts/skill-scan";
import { HintFinder } from "./hint-finder.ts";
import { asMention, findingAt, type RuleFacts } from "./rule.ts";
import type { ScannedText } from "./scanned-text.ts";
import { isSpokenAbout } from "./spoken-about.ts";

/** A rule that looks at one place of a text. */
export interface PatternRule extends RuleFacts {
  /** Where to try the pattern: lower-case, four or more characters. The pattern begins with one of them. */
  readonly hints: readonly string[];
  /** Sticky, and without a repetition in a repetition: its time is bounded by its own length. */
  readonly pattern: RegExp;
  /** Stands within the pattern's reach wherever it matches: its absence is cheaper to see than a mismatch. */
  readonly needs?: string;
  /** Only in files of these kinds. */
  readonly kinds?: readonly ScannedText["kind"][];
  /** Another look at a match; null drops it. */
  readonly judge?: (match: RegExpExecArray, text: ScannedText) => Partial<Judged> | null;
  /** About sentences, not commands: quotation marks and backticks make a mention of it. */
  readonly isProse?: boolean;
  /** Also where the text only speaks about it: a token is a token, wherever it stands. */
  readonly isLiteral?: boolean;
}

interface Judged extends RuleFacts {
  readonly blocks: boolean;
}

/** More of one code in one file say nothing new. */
const MAX_PER_CODE = 10;

export type PatternScan = (text: ScannedText) => { findings: ScanFinding[]; leftOut: number };

/** A file with more matches of one rule than this was made to cost time. */
const MAX_LOOKS = 500;
/** No pattern reaches further from its hint to what it needs. */
const REACH = 600;

/** One pass over a text for all rules. Lines that only speak about a thing give a mention, and never block. */
export function patternScan(rules: readonly PatternRule[]): PatternScan {
  for (const { code, pattern } of rules) {
    if (!pattern.sticky) throw new Error(`the pattern of ${code} must be sticky`);
  }
  const finder = new HintFinder(
    rules.flatMap((rule) => rule.hints.map((hint) => [hint, rule] as const)),
  );
  return (text) => {
    const matches = new Matches(text);
    finder.each(text.text, (rule, offset) => matches.take(rule, offset));
    return { findings: matches.findings, leftOut: matches.leftOut };
  };
}

/** The matches in one text, with what is already known of it. */
class Matches {
  readonly findings: ScanFinding[] = [];
  leftOut = 0;
  readonly #text: ScannedText;
  readonly #counts = new Map<string, number>();
  readonly #looks = new Map<PatternRule, number>();
  readonly #needed = new Map<string, number>();

  constructor(text: ScannedText) {
    this.#text = text;
  }

  take(rule: PatternRule, offset: number): void {
    const text = this.#text;
    if (rule.kinds !== undefined && !rule.kinds.includes(text.kind)) return;
    if (rule.needs !== undefined && this.#next(rule.needs, offset) - offset > REACH) return;
    rule.pattern.lastIndex = offset;
    const match = rule.pattern.exec(text.text);
    if (match === null) return;
    const judged = this.#judge(rule, match);
    if (judged === null) return;
    const facts = { ...rule, ...judged };
    const blocks = judged.blocks === true;
    const key = `${facts.code} ${String(blocks)}`;
    const count = this.#counts.get(key) ?? 0;
    if (count >= MAX_PER_CODE) {
      this.leftOut += 1;
      return;
    }
    const isMention = rule.isLiteral !== true && isSpokenAbout(text, offset, rule.isProse);
    // Counted apart, so that examples never push out what is meant.
    const countedAs = isMention ? `mention of ${key}` : key;
    const sameCount = this.#counts.get(countedAs) ?? 0;
    this.#counts.set(countedAs, sameCount + 1);
    if (sameCount >= MAX_PER_CODE) return;
    const finding = findingAt(text, { start: offset, length: match[0].length }, facts);
    this.findings.push(isMention ? asMention(finding) : finding);
  }

  #judge(rule: PatternRule, match: RegExpExecArray): Partial<Judged> | null {
    const looks = this.#looks.get(rule) ?? 0;
    if (rule.judge === undefined || looks >= MAX_LOOKS) return {};
    this.#looks.set(rule, looks + 1);
    return rule.judge(match, this.#text);
  }

  /** Where a text stands next; places are asked for in rising order, so all of it is read once. */
  #next(needed: string, offset: number): number {
    let next = this.#needed.get(needed) ?? -1;
    if (next < offset) {
      const found = this.#text.text.indexOf(needed, offset);
      next = found < 0 ? Infinity : found;
      this.#needed.set(needed, next);
    }
    return next;
  }
}

import type { ScanFinding } from "@switchyard/contracts/skill-importer/skill-scan";
import { HintFinder } from "./hint-finder.ts";
import { isMention, proseFacts } from "./mention.ts";
import { findingAt, type RuleFacts } from "./rule.ts";
import type { ScannedText } from "./scanned-text.ts";

/** Checks a match further; null drops it. */
export type Check = (match: RegExpExecArray, text: ScannedText) => Partial<Checked> | null;

interface Checked extends RuleFacts {
  readonly blocks: boolean;
}

/** A rule that matches at one position of a text. */
export interface PatternRule extends RuleFacts {
  /** True for a rule about prose: a mention lowers its weight, and it never blocks. Surrounding words change the findings of no other rule. */
  readonly isProse?: boolean | undefined;
  readonly blocks?: boolean | undefined;
  /** True for a match that is no finding: it only marks that other parts of the scanner should examine the text. */
  readonly isMark?: boolean | undefined;
  /** The texts at which the pattern is tried: lower-case, four or more characters. The pattern begins with one of them. */
  readonly hints: readonly string[];
  /** Sticky, and without a repetition in a repetition: its time is bounded by its own length. */
  readonly pattern: RegExp;
  /** A text within the pattern's reach wherever it matches: its absence is cheaper to detect than a mismatch. */
  readonly needs?: string | undefined;
  /** Restricts the rule to files of these kinds. */
  readonly kinds?: readonly ScannedText["kind"][] | undefined;
  readonly check?: Check | undefined;
}

/** More findings of one code in one file add no information. */
const MAX_PER_CODE = 10;

export interface PatternFindings {
  readonly findings: ScanFinding[];
  readonly leftOut: number;
  /** The codes of the marks that matched. */
  readonly marks: ReadonlySet<string>;
}

export type PatternScan = (text: ScannedText) => PatternFindings;

/** A file with more matches of one rule was made to exhaust the checks. */
const MAX_LOOKS = 400;
const TOO_MANY: RuleFacts & { blocks: true } = {
  code: "too_many_to_judge",
  owasp: "AST08",
  severity: "critical",
  confidence: "high",
  blocks: true,
  message: `more than ${MAX_LOOKS} places that a rule would have to check`,
  advice: "make the file shorter",
};
/** No pattern needs a text further from its hint than this. */
const REACH = 600;

/** Scans a text in one pass for all rules. */
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
    return { findings: matches.findings, leftOut: matches.leftOut, marks: matches.marks };
  };
}

/** The matches in one text so far. */
class Matches {
  readonly findings: ScanFinding[] = [];
  readonly marks = new Set<string>();
  leftOut = 0;
  readonly #text: ScannedText;
  readonly #counts = new Map<string, number>();
  readonly #looks = new Map<PatternRule, number>();
  readonly #needed = new Map<string, number>();
  readonly #checked = new Map<string, number>();

  constructor(text: ScannedText) {
    this.#text = text;
  }

  take(rule: PatternRule, offset: number): void {
    const text = this.#text;
    if (rule.isMark === true && this.marks.has(rule.code)) return;
    if (rule.kinds !== undefined && !rule.kinds.includes(text.kind)) return;
    if ((this.#looks.get(rule) ?? 0) > MAX_LOOKS) return;
    if (rule.needs !== undefined && this.#next(rule.needs, offset) - offset > REACH) return;
    rule.pattern.lastIndex = offset;
    const match = rule.pattern.exec(text.text);
    if (match === null) return;
    if (rule.isMark === true) return this.#mark(rule, match);
    const place = { start: offset, length: match[0].length };
    if (rule.check !== undefined && !this.#mayLook(rule)) return this.#add(place, TOO_MANY);
    const checked = rule.check === undefined ? {} : rule.check(match, text);
    if (checked === null) return;
    const facts = { ...rule, ...checked };
    // Surrounding words count only for prose, and then the finding never blocks.
    if (rule.isProse === true) this.#add(place, proseFacts(facts, isMention(text, place)));
    else this.#add(place, facts);
  }

  /** Each line is checked once, and one that is long in parts. */
  #mark({ code, check }: PatternRule, match: RegExpExecArray): void {
    const { text } = this.#text;
    if (match.index < (this.#checked.get(code) ?? 0)) return;
    if (check === undefined || check(match, this.#text) !== null) {
      this.marks.add(code);
      return;
    }
    const end = text.indexOf("\n", match.index);
    this.#checked.set(code, Math.min(end < 0 ? text.length : end, match.index + REACH));
  }

  /** Counted by weight, so that ten harmless findings never displace a blocking one. Only findings that are kept are written out. */
  #add(
    place: { start: number; length: number },
    facts: RuleFacts & { blocks?: boolean | undefined },
  ): void {
    const key = `${facts.code} ${facts.severity} ${String(facts.blocks ?? false)}`;
    const count = this.#counts.get(key) ?? 0;
    this.#counts.set(key, count + 1);
    if (count < MAX_PER_CODE) this.findings.push(findingAt(this.#text, place, facts));
    else if (facts.severity !== "info") this.leftOut += 1;
  }

  #mayLook(rule: PatternRule): boolean {
    const looks = (this.#looks.get(rule) ?? 0) + 1;
    this.#looks.set(rule, looks);
    return looks <= MAX_LOOKS;
  }

  /** Returns the next offset of a text; offsets are requested in rising order, so the file is read once. */
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

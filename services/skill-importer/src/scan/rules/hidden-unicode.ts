import type { ScanFinding } from "@switchyard/contracts/skill-scan";
import { findingAt, type RuleFacts } from "../rule.ts";
import type { ScannedText } from "../scanned-text.ts";

/** Any of the characters below; most files have none, and are done with this one look. */
const SUSPECT =
  /[\u0000-\u0008\u000B\u000E-\u001F\u007F\u115F\u1160\u180E\u200B-\u200F\u202A-\u202E\u2060-\u2069\u3164\p{Variation_Selector}\uFEFF\uFFA0\u{E0000}-\u{E007F}]/u; // oxlint-disable-line no-control-regex -- these are what is looked for
const RTL = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u;
const MAX_FINDINGS = 20;

const HARD = {
  owasp: "AST01",
  severity: "critical",
  confidence: "high",
  blocks: true,
  advice: "remove the characters; a model reads them, and a person does not see them",
} as const;

const SOFT = {
  owasp: "AST05",
  severity: "medium",
  confidence: "medium",
  advice: "remove the characters",
} as const;

/** A run of one kind of unseen character; null where a language or an emoji needs it. */
type Judge = (run: Run, text: string) => (RuleFacts & { blocks?: boolean }) | null;

interface Run {
  readonly start: number;
  readonly end: number;
  readonly count: number;
}

const KINDS: readonly { readonly of: RegExp; readonly judge: Judge }[] = [
  { of: /[\u{E0000}-\u{E007F}]/u, judge: tags },
  { of: /[\u{E0100}-\u{E01EF}]/u, judge: supplementarySelectors },
  { of: /[\uFE00-\uFE0F]/u, judge: selectors },
  { of: /[\u202A-\u202E\u2066-\u2069]/u, judge: direction },
  { of: /[\u200B\u2060\uFEFF\u180E\u2061-\u2064]/u, judge: zeroWidth },
  { of: /[\u200C\u200D]/u, judge: joiners },
  { of: /[\u115F\u1160\u3164\uFFA0]/u, judge: fillers },
  { of: /[\u0000-\u0008\u000B\u000E-\u001F\u007F]/, judge: controls }, // oxlint-disable-line no-control-regex -- as above
];

/** Text that a model reads and a person does not see. */
export function hiddenUnicode(text: ScannedText): ScanFinding[] {
  if (!SUSPECT.test(text.text)) return [];
  const findings: ScanFinding[] = [];
  for (const run of runsOf(text.text)) {
    const facts = run.judge(run, text.text);
    if (facts === null) continue;
    findings.push(findingAt(text, { start: run.start, length: run.end - run.start }, facts));
    if (findings.length >= MAX_FINDINGS) break;
  }
  return findings;
}

function* runsOf(text: string): Generator<Run & { judge: Judge }> {
  const suspect = new RegExp(SUSPECT.source, "gu");
  for (let match = suspect.exec(text); match !== null; match = suspect.exec(text)) {
    const [first] = match;
    const kind = KINDS.find(({ of }) => of.test(first));
    if (kind === undefined) continue;
    let end = match.index;
    let count = 0;
    for (let next: string = first; next !== "" && kind.of.test(next); count += 1) {
      end += next.length;
      next = String.fromCodePoint(...codePointAt(text, end));
    }
    suspect.lastIndex = end;
    yield { start: match.index, end, count, judge: kind.judge };
  }
}

/** None at the end of the text. */
function codePointAt(text: string, index: number): readonly number[] {
  const code = text.codePointAt(index);
  return code === undefined ? [] : [code];
}

/** Flags of regions (🏴 and tags, ended by a cancel tag) are the one use of tag characters. */
function tags(run: Run, text: string): ReturnType<Judge> {
  const isFlag =
    text.slice(run.start - 2, run.start) === "\u{1F3F4}" &&
    text.slice(run.end - 2, run.end) === "\u{E007F}" &&
    run.count <= 8;
  if (isFlag) return null;
  return {
    ...HARD,
    code: "tag_characters",
    message: "Unicode tag characters: text that cannot be seen",
  };
}

/** One after a Chinese, Japanese or Korean character chooses its form. */
function supplementarySelectors(run: Run, text: string): ReturnType<Judge> {
  const before = text.slice(Math.max(0, run.start - 2), run.start);
  if (run.count === 1 && /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]$/u.test(before))
    return null;
  return {
    ...HARD,
    code: "variation_selectors",
    message: "variation selectors that can carry hidden bytes",
  };
}

/** One chooses how a character looks; several in a row carry bytes. */
function selectors(run: Run): ReturnType<Judge> {
  if (run.count === 1) return null;
  if (run.count < 4)
    return {
      ...SOFT,
      code: "variation_selectors",
      message: "several variation selectors in a row",
    };
  return {
    ...HARD,
    code: "variation_selectors",
    message: "variation selectors that can carry hidden bytes",
  };
}

/**
 * Overrides turn round what is read. Embeddings and isolates are how right-to-left languages are mixed
 * with others, so on a line in such a language they only become a finding when they do not pair up.
 */
function direction(run: Run, text: string): ReturnType<Judge> {
  const start = text.lastIndexOf("\n", run.start - 1) + 1;
  const end = text.indexOf("\n", run.end);
  const line = text.slice(
    Math.max(start, run.start - 2_000),
    Math.min(end < 0 ? text.length : end, run.end + 2_000),
  );
  const isOverride = /[\u202D\u202E]/.test(text.slice(run.start, run.end));
  if (!isOverride && RTL.test(line)) {
    const opened = line.match(/[\u202A\u202B\u2066-\u2068]/g)?.length ?? 0;
    const ended = line.match(/[\u202C\u2069]/g)?.length ?? 0;
    if (opened === ended) return null;
    return {
      ...SOFT,
      code: "bidi_unbalanced",
      message: "direction marks that do not pair up on this line",
    };
  }
  return {
    ...HARD,
    code: "bidi_control",
    message: "direction controls that make text look other than it reads",
  };
}

/** A single one comes from copying; many in a row carry bits. */
function zeroWidth(run: Run, text: string): ReturnType<Judge> {
  return (
    joiners(run, text) ?? {
      ...SOFT,
      code: "zero_width",
      severity: "info",
      confidence: "low",
      message: "a zero-width character",
    }
  );
}

/** Persian, Indic scripts and emoji need them; between Latin letters they hide a word. */
function joiners(run: Run, text: string): ReturnType<Judge> {
  if (run.count >= 8) {
    return {
      ...HARD,
      code: "zero_width_text",
      message: "a run of zero-width characters that can carry hidden text",
    };
  }
  const isInWord =
    /[A-Za-z]/.test(text[run.start - 1] ?? "") && /[A-Za-z]/.test(text[run.end] ?? "");
  return isInWord
    ? {
        ...SOFT,
        code: "zero_width_in_word",
        message: "a zero-width character inside of a word, which hides it from searches",
      }
    : null;
}

function fillers(run: Run): ReturnType<Judge> {
  return run.count < 4
    ? null
    : { ...SOFT, code: "blank_letters", message: "letters that look like nothing" };
}

function controls(run: Run, text: string): ReturnType<Judge> {
  const isEscape = text[run.start] === "\u001B" && /[[\]]/.test(text[run.end] ?? "");
  return {
    ...SOFT,
    code: "control_characters",
    severity: isEscape ? "medium" : "low",
    message: isEscape ? "a terminal escape sequence" : "control characters",
  };
}

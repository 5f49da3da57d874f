import type { ScanFinding } from "@switchyard/contracts/skill-importer/skill-scan";
import { findingAt } from "../rule.ts";
import type { ScannedText } from "../scanned-text.ts";
import { HARD, SOFT, type Check, type Run } from "./unseen-run.ts";
import { Scattered, ZERO_WIDTH, zeroWidth } from "./zero-width.ts";
import { bidiEffect, hasRightToLeft, MAX_NAMED } from "./bidi.ts";

/** Matches any of the characters below; most files have none, and need only this check. */
const SUSPECT =
  /[\u0000-\u0008\u000B\u000E-\u001F\u007F\u115F\u1160\u180E\u200B-\u200F\u202A-\u202E\u2060-\u2069\u3164\p{Variation_Selector}\uFEFF\uFFA0\u{E0000}-\u{E007F}]/u; // oxlint-disable-line no-control-regex -- the rule searches for these
const MAX_FINDINGS = 20;

const KINDS: readonly { readonly of: RegExp; readonly check: Check }[] = [
  { of: /[\u{E0000}-\u{E007F}]/u, check: tags },
  { of: /[\u{E0100}-\u{E01EF}]/u, check: supplementarySelectors },
  { of: /[\uFE00-\uFE0F]/u, check: selectors },
  { of: /[\u202A-\u202E\u2066-\u2069]/u, check: direction },
  { of: ZERO_WIDTH, check: zeroWidth },
  { of: /[\u115F\u1160\u3164\uFFA0]/u, check: fillers },
  { of: /[\u0000-\u0008\u000B\u000E-\u001F\u007F]/, check: controls }, // oxlint-disable-line no-control-regex -- the rule searches for these
];

/** Text that a model reads and a person does not see. */
export function hiddenUnicode(text: ScannedText): ScanFinding[] {
  if (!SUSPECT.test(text.text)) return [];
  const findings: ScanFinding[] = [];
  const scattered = new Scattered();
  let soft = 0;
  let hard = 0;
  for (const run of runsOf(text.text)) {
    scattered.take(run, text.text);
    const facts = run.check(run, text.text, text);
    if (facts === null) continue;
    // Counted apart: harmless ones must not use up the room for others.
    const count = facts.blocks === true ? (hard += 1) : (soft += 1);
    if (count > MAX_FINDINGS) continue;
    findings.push(findingAt(text, { start: run.start, length: run.end - run.start }, facts));
  }
  const first = scattered.carriesData();
  if (first !== null) {
    const message = "unseen characters between letters that together can carry hidden text";
    findings.push(
      findingAt(text, { start: first, length: 80 }, { ...HARD, code: "zero_width_text", message }),
    );
  }
  return findings;
}

function* runsOf(text: string): Generator<Run & { check: Check }> {
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
    yield { start: match.index, end, count, check: kind.check };
  }
}

/** None at the end of the text. */
function codePointAt(text: string, index: number): readonly number[] {
  const code = text.codePointAt(index);
  return code === undefined ? [] : [code];
}

/** Flags of regions (🏴, a code such as `gbsct` in tags, a cancel tag) are the one use of tag characters. */
function tags(run: Run, text: string): ReturnType<Check> {
  const written = text
    .slice(run.start, run.end)
    .replaceAll(/[\u{E0020}-\u{E007E}]/gu, (tag) =>
      String.fromCodePoint((tag.codePointAt(0) ?? 0) - 0xe0000),
    );
  const isFlag =
    text.slice(run.start - 2, run.start) === "\u{1F3F4}" &&
    /^[a-z]{2}[a-z0-9]{1,3}\u{E007F}$/u.test(written);
  if (isFlag) return null;
  return {
    ...HARD,
    code: "tag_characters",
    message: "Unicode tag characters: text that cannot be seen",
  };
}

/** One after a Chinese, Japanese or Korean character chooses its form. */
function supplementarySelectors(run: Run, text: string): ReturnType<Check> {
  const before = text.slice(Math.max(0, run.start - 2), run.start);
  if (run.count === 1 && /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]$/u.test(before))
    return null;
  if (run.count === 1) return FEW_SELECTORS;
  return MANY_SELECTORS;
}

const MANY_SELECTORS = {
  ...HARD,
  code: "variation_selectors",
  message: "variation selectors that can carry hidden bytes",
} as const;
const FEW_SELECTORS = {
  ...SOFT,
  code: "variation_selectors",
  message: "variation selectors that nothing here needs",
} as const;

/** One selector chooses how a character is displayed; several in a row carry bytes. */
function selectors(run: Run): ReturnType<Check> {
  if (run.count === 1) return null;
  if (run.count < 4) return FEW_SELECTORS;
  return MANY_SELECTORS;
}

/** Blocks controls that reorder letters, and in code unbalanced ones; all others belong to texts of mixed direction. */
function direction(run: Run, text: string, file: ScannedText): ReturnType<Check> {
  const index = file.lineIndexAt(run.start);
  const from = Math.max(file.startOf(index), run.start - 300);
  const to = Math.min(file.startOf(index + 1), run.end + 300);
  const line = text.slice(from, to).replace(/\n$/, "");
  const effect =
    run.count > MAX_NAMED ? "reorders" : bidiEffect(line, run.start - from, run.end - from);
  if (effect === "named")
    return { ...BIDI, severity: "low", message: "names direction controls by themselves" };
  if (effect === "reorders") {
    const message = "direction controls that make text look other than it reads";
    return { ...HARD, code: "bidi_control", message };
  }
  if (effect === "balanced") return hasRightToLeft(line) ? null : { ...BIDI, severity: "info" };
  const isCode = file.kind === "script" || file.contextAt(index).fence !== null;
  if (isCode) {
    const message = "direction controls in code that do not pair up on their line";
    return { ...HARD, code: "bidi_control", message };
  }
  const message = "direction marks that do not pair up on this line";
  return { ...BIDI, code: "bidi_unbalanced", message };
}

const BIDI = { ...SOFT, code: "bidi_marks", message: "direction marks" } as const;

function fillers(run: Run): ReturnType<Check> {
  return run.count < 4
    ? null
    : { ...SOFT, code: "blank_letters", message: "letters that look like nothing" };
}

function controls(run: Run, text: string): ReturnType<Check> {
  const isEscape = text[run.start] === "\u001B" && /[[\]]/.test(text[run.end] ?? "");
  return {
    ...SOFT,
    code: "control_characters",
    severity: isEscape ? "medium" : "low",
    message: isEscape ? "a terminal escape sequence" : "control characters",
  };
}

import type { RuleFacts } from "./rule.ts";
import type { ScannedText } from "./scanned-text.ts";

/**
 * Words by which a text speaks *about* something harmful instead of requesting it. A skill that teaches security is full of the
 * phrases that attacks use.
 */
const ABOUT =
  /\b(?:refuse|reject|den(?:y|ied)|block(?:s|ed)?|detect(?:s|ed|ion|ing)?|flag(?:s|ged)?|prevents?|beware|look(?:s|ing)? for|check(?:s|ing)? for|scan(?:s|ning)? for|examples?|patterns?|malicious|malware|attack(?:s|er|ers)?|suspicious|injections?|jailbreaks?|red flags?|dangerous|unsafe|insecure|vulnerab\w{0,8}|exploits?|threats?|phishing|untrusted|anti-?patterns?|test cases?|such as)\b|\be\.g\.|[❌✗⛔]|🚫/iu;
/** "Do not hesitate to …" is a request, not a negation. */
const NEGATION =
  /\b(?:never|don['’]t|do not|avoid|must not|should not|cannot|must never)\b(?! (?:\w{1,12} ){0,2}?(?:hesitate|fail|forget|stop|wait|worry|mind|bother|be afraid|be shy)\b)/iu;
/** Words that begin a list of mentions: from there on a comma does not end the clause. */
const LISTS =
  /\b(?:such as|like|e\.g\.|including|include|phrases?|texts?|words?|prompts?|patterns?|examples?)\b[^.!?;]{0,60}$/iu;
/** After a negation one of these must precede the colon ("Never do this: …"); a word of ABOUT alone suffices. */
const POINTS_AT = /\b(?:this|these|following|such|any of|of those|things?)\b/iu;
const SENTENCE_END = /[.!?;。！？；](?=\s|$)|[。！？；—–]/gu;
const CLAUSE_END = /[,，、(（]|\b(?:and|then|but|just|so|instead|otherwise|rather|please|now)\b/giu;
const COLON = /[:：][\s*_"'“`-]*$/u;
const TOPIC =
  /secur|threat|attack|inject|red[- ]?flag|anti-?pattern|vulnerab|malicious|malware|detect|audit|unsafe|dangerous|avoid|never|don't|example|red[- ]?team|pentest|exploit/i;
const REACH = 240;

/** Returns the facts of a finding about prose: with a lower weight when the text only mentions the phrase, and never blocking. */
export function proseFacts(facts: RuleFacts, isMentioned: boolean): RuleFacts & { blocks: false } {
  if (!isMentioned) return { ...facts, blocks: false };
  const message = `${facts.message} (quoted, negated or given as an example)`;
  return { ...facts, severity: "info", confidence: "low", message, blocks: false };
}

/** True when the section of a line declares that it is about attacks. It changes no verdict. */
export function isAboutAttacks(text: ScannedText, line: number): boolean {
  return text.kind === "markdown" && TOPIC.test(text.contextAt(line - 1).heading);
}

/**
 * True when prose at an offset is quoted, negated, or given as an example: by the words before it in its own clause, by a line
 * above that ends with a colon, or by the heading of its section. Words after it excuse nothing, because the author of an attack
 * controls them, too. Scripts, code blocks and the matched phrase itself never excuse a match.
 */
export function isMention(
  text: ScannedText,
  { start, length }: { start: number; length: number },
): boolean {
  if (text.kind !== "markdown" || text.looksLeft === 0) return false;
  text.looksLeft -= 1;
  const index = text.lineIndexAt(start);
  const context = text.contextAt(index);
  if (context.isComment || context.isCode) return false;
  const line = text.lineAt(index);
  const column = start - text.startOf(index);
  const before = line.slice(Math.max(0, column - REACH), column);
  const after = line.slice(column + length, column + length + REACH);
  if (/^\s*(?:>|\|)/.test(line) || isQuoted(before, after)) return true;
  return TOPIC.test(context.heading) || isExcused(before) || introduces(lineAbove(text, index));
}

/** True when a negation or a descriptive word is in the clause that continues with the phrase. */
function isExcused(before: string): boolean {
  const sentence = afterLast(before, SENTENCE_END);
  if (introduces(sentence)) return true;
  const isListed = LISTS.test(sentence) && ABOUT.test(sentence);
  const clause = isListed ? sentence : afterLast(sentence, CLAUSE_END);
  return ABOUT.test(clause) || NEGATION.test(clause);
}

/** True for a line that ends with a colon and declares that what follows is harmful or forbidden. */
function introduces(written: string): boolean {
  if (!COLON.test(written)) return false;
  const sentence = afterLast(written.replace(COLON, ""), SENTENCE_END);
  return ABOUT.test(sentence) || (NEGATION.test(sentence) && POINTS_AT.test(sentence));
}

function afterLast(text: string, ends: RegExp): string {
  let from = 0;
  for (const match of text.matchAll(ends)) from = match.index + match[0].length;
  return text.slice(from);
}

/** The nearest line with text above, which a list hangs on: without the items beside this one. */
function lineAbove(text: ScannedText, index: number): string {
  for (let at = index - 1; at >= 0 && at >= index - 12; at -= 1) {
    const line = text.lineAt(at).trimEnd();
    const isSibling = /^\s*(?:[-*+]|\d{1,3}[.)])\s/.test(line) && !COLON.test(line);
    if (line.trim() !== "" && !isSibling && !text.contextAt(at).isCode) return line.slice(-REACH);
  }
  return "";
}

/** Between two marks of one kind: "…", “…”, '…' with a space or a bracket outside, `…`. */
function isQuoted(before: string, after: string): boolean {
  const isOdd = (mark: string) => before.split(mark).length % 2 === 0 && after.includes(mark);
  if (isOdd('"') || isOdd("`")) return true;
  if (/[“«「][^”»」]*$/.test(before)) return /[”»」]/.test(after);
  return /(?:^|[\s(])'[^']{0,200}$/.test(before) && /^[^'\n]{0,200}'(?:[\s).,;]|$)/.test(after);
}

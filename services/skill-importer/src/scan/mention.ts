import type { RuleFacts } from "./rule.ts";
import type { ScannedText } from "./scanned-text.ts";

/**
 * Words by which a text speaks *about* something harmful instead of asking for it. A skill that teaches
 * security is full of the phrases that an attack is made of.
 */
const ABOUT =
  /\b(?:never|don['’]t|do not|avoid|must not|should not|refuse|reject|den(?:y|ied)|block(?:s|ed)?|detect(?:s|ed|ion|ing)?|flag(?:s|ged)?|prevents?|beware|look(?:s|ing)? for|check(?:s|ing)? for|scan(?:s|ning)? for|such as|e\.g\.|for example|examples?|patterns?|malicious|malware|attack(?:s|er|ers)?|suspicious|injections?|jailbreaks?|red flags?|dangerous|unsafe|insecure|vulnerab\w{0,8}|exploits?|threats?|phishing|untrusted|anti-?patterns?|test cases?)\b|[❌✗⛔]|🚫/i;
const TOPIC =
  /secur|threat|attack|inject|red[- ]?flag|anti-?pattern|vulnerab|malicious|malware|detect|audit|unsafe|dangerous|avoid|never|don't|example|red[- ]?team|pentest|exploit/i;
const REACH = 240;

/** What a rule about prose says: less where the text only mentions it, and never that it blocks. */
export function proseFacts(facts: RuleFacts, isMentioned: boolean): RuleFacts & { blocks: false } {
  if (!isMentioned) return { ...facts, blocks: false };
  const message = `${facts.message} (quoted, negated or given as an example)`;
  return { ...facts, severity: "info", confidence: "low", message, blocks: false };
}

/**
 * True when prose at an offset is quoted, negated, or given as an example: by the rest of its line, the two
 * lines of prose before it, or the heading of its section. Never in scripts and blocks of code, by words of these, or by
 * its own.
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
  if (ABOUT.test(before) || ABOUT.test(after)) return true;
  if (/^\s*(?:>|\|)/.test(line) || isQuoted(before, after)) return true;
  return TOPIC.test(context.heading) || linesBefore(text, index).some((one) => ABOUT.test(one));
}

/** The nearest two lines with text above, and the line that a list hangs on. */
function linesBefore(text: ScannedText, index: number): string[] {
  const lines: string[] = [];
  for (let at = index - 1; at >= 0 && at >= index - 12 && lines.length < 2; at -= 1) {
    const line = text.lineAt(at);
    const isSibling = /^\s*(?:[-*+]|\d{1,3}[.)])\s/.test(line) && !line.trimEnd().endsWith(":");
    if (line.trim() !== "" && !isSibling && !text.contextAt(at).isCode)
      lines.push(line.slice(0, REACH));
  }
  return lines;
}

/** Between two marks of one kind: "…", “…”, '…' with spaces outside, `…`. */
function isQuoted(before: string, after: string): boolean {
  const isOdd = (mark: string) => before.split(mark).length % 2 === 0 && after.includes(mark);
  if (isOdd('"') || isOdd("`")) return true;
  const opened = before.search(/[“«「][^”»」]*$/);
  return opened >= 0 || /(?:^|[\s(])'[^']{0,200}$/.test(before);
}

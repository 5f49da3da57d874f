import type { ScannedText } from "./scanned-text.ts";

/**
 * Words by which a text speaks *about* something harmful instead of asking for it. A skill that teaches
 * security is full of the phrases that an attack is made of.
 */
const ABOUT =
  /\b(?:never|don['’]t|do not|avoid|must not|mustn['’]t|should not|shouldn['’]t|refuse|reject|den(?:y|ied|ies)|block(?:s|ed)?|detect(?:s|ed|ion|ing)?|flag(?:s|ged)?|prevents?|beware|watch (?:out )?for|look(?:s|ing)? for|check(?:s|ing)? for|scan(?:s|ning)? for|search(?:es|ing)? for|grep|such as|e\.g\.|for example|examples?|patterns?|malicious|malware|attack(?:s|er|ers)?|adversar\w{0,8}|suspicious|injections?|jailbreaks?|red flags?|dangerous|unsafe|insecure|vulnerab\w{0,8}|exploits?|threats?|phishing|scams?|untrusted|compromised?|payloads?|anti-?patterns?|test cases?|sanitiz\w{0,4})\b|[❌✗⛔]|🚫/i;
const TOPIC =
  /secur|threat|attack|inject|red[- ]?flag|anti-?pattern|vulnerab|malicious|malware|detect|audit|unsafe|dangerous|avoid|never|don't|example|red[- ]?team|pentest|exploit|incident|forensic|phish/i;
const REACH = 240;

/**
 * True when what stands at an offset is quoted, negated, or named as an example: by its own line, the two
 * lines before it, the line that leads into its list, or the heading of its section. `isProse`: quotation
 * marks and backticks count as quoting.
 */
export function isSpokenAbout(text: ScannedText, offset: number, isProse = false): boolean {
  if (text.looksLeft === 0) return false;
  text.looksLeft -= 1;
  const index = text.lineIndexAt(offset);
  const context = text.contextAt(index);
  if (context.isComment) return false;
  const line = text.lineAt(index);
  const column = offset - text.startOf(index);
  const near = line.slice(Math.max(0, column - REACH), column + REACH);
  if (ABOUT.test(near)) return true;
  if (context.fence === null && /^\s*(?:>|\|)/.test(line)) return true;
  // Commands stand in quotes and backticks because they are meant.
  if (isProse && context.fence === null && isQuoted(line, column)) return true;
  if (TOPIC.test(context.heading)) return true;
  return leadingLines(text, index).some((before) => ABOUT.test(before.slice(0, REACH)));
}

/** The nearest two lines with text above, and the line that a list or a fenced block hangs on. */
function leadingLines(text: ScannedText, index: number): string[] {
  const lines: string[] = [];
  for (let at = index - 1; at >= 0 && at >= index - 12 && lines.length < 2; at -= 1) {
    const line = text.lineAt(at);
    const isFenceMark = /^\s*(?:```|~~~)/.test(line);
    const isSibling = /^\s*(?:[-*+]|\d{1,3}[.)])\s/.test(line) && !line.trimEnd().endsWith(":");
    if (line.trim() === "" || isFenceMark || isSibling) continue;
    lines.push(line);
  }
  return lines;
}

/** Between two marks of one kind on this line: "…", “…”, '…' with spaces outside, `…`. */
function isQuoted(line: string, column: number): boolean {
  const before = line.slice(Math.max(0, column - REACH), column);
  const after = line.slice(column, column + REACH);
  const isOdd = (mark: string) => before.split(mark).length % 2 === 0 && after.indexOf(mark) >= 0;
  if (isOdd('"') || isOdd("`")) return true;
  const opened = Math.max(
    before.lastIndexOf("“"),
    before.lastIndexOf("«"),
    before.lastIndexOf("「"),
  );
  const closed = Math.max(
    before.lastIndexOf("”"),
    before.lastIndexOf("»"),
    before.lastIndexOf("」"),
  );
  return opened > closed || /(?:^|[\s(])'[^']{0,200}$/.test(before);
}

import type { ScanFinding } from "@switchyard/contracts/skill-importer/skill-scan";
import { findingAt } from "../rule.ts";
import type { ScannedText } from "../scanned-text.ts";

const MIN_LINES = 60;
const MIN_SPACES = 300;
const FACTS = {
  code: "hidden_by_blanks",
  owasp: "AST05",
  severity: "medium",
  confidence: "medium",
  advice: "remove the blanks, and read what stands behind them",
} as const;

/** Text pushed out of sight by many blank lines, or by many spaces on one line. */
export function hiddenByBlanks(text: ScannedText): ScanFinding[] {
  if (!hasManyBlanks(text.text)) return [];
  const findings: ScanFinding[] = [];
  let blanks = 0;
  let spaces = 0;
  let isWide = false;
  let hasText = false;
  const say = (offset: number, message: string) => {
    if (findings.length < 5)
      findings.push(findingAt(text, { start: offset, length: 80 }, { ...FACTS, message }));
  };
  // Breaks and spaces are counted by hand: a pattern for "text after many blanks" reads blanks many times.
  for (let index = 0; index < text.text.length; index += 1) {
    const code = text.text.charCodeAt(index);
    if (code === 10) {
      blanks += 1;
      spaces = 0;
      isWide = false;
      hasText = false;
    } else if (isBlank(code)) {
      spaces += 1;
      isWide ||= spaces >= MIN_SPACES && text.kind === "markdown";
    } else {
      if (blanks > MIN_LINES) say(index, `text after ${blanks - 1} blank lines`);
      else if (isWide && hasText) say(index, "text after hundreds of spaces on one line");
      blanks = 0;
      spaces = 0;
      isWide = false;
      hasText = true;
    }
  }
  return findings;
}

/** True when a run of {@link MIN_LINES} blanks is possible: such a run covers one of the sampled offsets. Without one nothing is hidden. */
function hasManyBlanks(text: string): boolean {
  for (let place = MIN_LINES - 1; place < text.length; place += MIN_LINES) {
    if (!isBlank(text.charCodeAt(place))) continue;
    let start = place;
    while (start > 0 && isBlank(text.charCodeAt(start - 1))) start -= 1;
    let end = place + 1;
    while (end < text.length && isBlank(text.charCodeAt(end))) end += 1;
    if (end - start >= MIN_LINES) return true;
  }
  return false;
}

function isBlank(code: number): boolean {
  return code === 32 || code === 10 || code === 9 || code === 0xa0;
}

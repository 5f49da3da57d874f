import type { ScanFinding } from "@switchyard/contracts/skill-importer/skill-scan";
import type { Check } from "../pattern-rule.ts";
import { patternOf } from "../read-rules.ts";
import { findingAt } from "../rule.ts";
import type { ScannedText } from "../scanned-text.ts";

/** A skill consists of instructions, so single phrases are weak evidence: a phrase hidden in a comment weighs more. */
export const weighsComment: Check = (match, text) =>
  text.contextAt(text.lineIndexAt(match.index)).isComment
    ? {
        severity: "high",
        message: "instructions against the user, where a reader of the page does not see them",
      }
    : {};

const HIDES = ["instruction_override", "concealment"].map((code) => patternOf(code));

/** Finds HTML comments that both override instructions and conceal it from the user: readers of the rendered page do not see them. */
export function hiddenInstructions(text: ScannedText): ScanFinding[] {
  if (text.kind !== "markdown") return [];
  const findings: ScanFinding[] = [];
  let from = text.text.indexOf("<!--");
  while (from >= 0 && findings.length < 10) {
    const closed = text.text.indexOf("-->", from + 4);
    const end = closed < 0 ? text.text.length : closed;
    const comment = text.text.slice(from + 4, Math.min(end, from + 4_000));
    if (HIDES.every((pattern) => pattern.test(comment))) {
      findings.push(
        findingAt(
          text,
          { start: from, length: comment.length + 4 },
          {
            code: "hidden_instructions",
            owasp: "AST05",
            severity: "critical",
            confidence: "high",
            blocks: true,
            message: "an HTML comment overrides instructions and keeps it from the user",
            advice: "do not use the skill",
          },
        ),
      );
    }
    from = text.text.indexOf("<!--", end);
  }
  return findings;
}

import type {
  OwaspAst,
  ScanConfidence,
  ScanFinding,
  ScanSeverity,
} from "@switchyard/contracts/skill-scan";
import { evidenceOf } from "./evidence.ts";
import type { ScannedText } from "./scanned-text.ts";

/** What a rule says, wherever it finds it. */
export interface RuleFacts {
  readonly code: string;
  readonly owasp: OwaspAst;
  readonly severity: ScanSeverity;
  readonly confidence: ScanConfidence;
  readonly message: string;
  readonly advice: string;
}

/** A finding at an offset of a text; `blocks` only where the rule is as good as certain. */
export function findingAt(
  text: ScannedText,
  { start, length }: { start: number; length: number },
  facts: RuleFacts & { readonly blocks?: boolean | undefined },
): ScanFinding {
  const position = text.positionAt(start);
  return {
    code: facts.code,
    owasp: facts.owasp,
    severity: facts.severity,
    confidence: facts.confidence,
    blocks: facts.blocks ?? false,
    file: text.file,
    line: position.line,
    column: position.column,
    evidence: evidenceOf(text.text.slice(start, start + length)),
    message: facts.message,
    advice: facts.advice,
  };
}

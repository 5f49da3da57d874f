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

type Weighed = RuleFacts & { readonly blocks?: boolean | undefined };

/** A finding at an offset of a text; `blocks` only where the rule is as good as certain. */
export function findingAt(
  text: ScannedText,
  { start, length }: { start: number; length: number },
  facts: Weighed,
): ScanFinding {
  const evidence = evidenceOf(text.text.slice(start, start + length));
  return { ...findingIn(text.file, evidence, facts), ...text.positionAt(start) };
}

/** A finding about a file as a whole. A rule has more fields than what is taken of it here. */
export function findingIn(
  file: string,
  evidence: string,
  { code, owasp, severity, confidence, blocks = false, message, advice }: Weighed,
): ScanFinding {
  const place = { file, line: null, column: null };
  return { code, owasp, severity, confidence, blocks, ...place, evidence, message, advice };
}

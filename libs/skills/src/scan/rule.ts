import type { ScanFinding } from "@switchyard/contracts/skill-importer/skill-scan";
import { evidenceOf } from "./evidence.ts";
import type { ScannedText } from "./scanned-text.ts";

/** The facts that a rule contributes to each of its findings. */
export type RuleFacts = Readonly<
  Pick<ScanFinding, "code" | "owasp" | "severity" | "confidence" | "message" | "advice">
>;

type Weighed = RuleFacts & { readonly blocks?: boolean | undefined };

/** A finding at an offset of a text; `blocks` only where the rule is as good as certain. */
export function findingAt(
  text: ScannedText,
  { start, length }: { start: number; length: number },
  facts: Weighed,
): ScanFinding {
  const seen = text.text.slice(start, start + length);
  return { ...findingIn(text.file, seen, facts), ...text.positionAt(start) };
}

/** A finding about a file as a whole; it shows the file's name. */
export function findingOf(file: string, facts: Weighed): ScanFinding {
  return { ...findingIn(file, "", facts), evidence: file.slice(0, 140) };
}

/** A finding at a position in a file. A rule has more fields than a finding takes from it. */
export function findingIn(
  file: string,
  seen: string,
  { code, owasp, severity, confidence, blocks = false, message, advice }: Weighed,
): ScanFinding {
  const place = { file, line: null, column: null };
  const evidence = evidenceOf(seen);
  return { code, owasp, severity, confidence, blocks, ...place, evidence, message, advice };
}

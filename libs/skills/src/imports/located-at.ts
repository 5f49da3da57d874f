import type { Diagnostic } from "@switchyard/contracts/skill-importer/skills";
import type { Finding } from "../finding.ts";

/** Findings as they leave the parser, with the file that they are about. */
export function locatedAt(file: string, findings: readonly Finding[]): Diagnostic[] {
  return findings.map((finding) => ({ ...finding, file }));
}

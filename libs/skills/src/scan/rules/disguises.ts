import type { ScanFinding } from "@switchyard/contracts/skill-importer/skill-scan";
import type { PlainText } from "../plain/plain-text.ts";
import { findingIn } from "../rule.ts";

/** A command that is split, encoded or turned round, so that neither a person nor a search recognises it. */
export function disguises({ file, disguised }: PlainText): ScanFinding[] {
  if (disguised === null) return [];
  const finding = findingIn(file, disguised.text, {
    code: "disguised_command",
    owasp: "AST01",
    severity: "high",
    confidence: "medium",
    message: "writes a command so that it is not recognised",
    advice: "read what it is once it is put together; there is no honest reason to hide a command",
  });
  return [{ ...finding, line: disguised.line, column: 1 }];
}

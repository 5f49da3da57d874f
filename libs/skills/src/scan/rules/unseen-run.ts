import type { RuleFacts } from "../rule.ts";
import type { ScannedText } from "../scanned-text.ts";

export const HARD = {
  owasp: "AST01",
  severity: "critical",
  confidence: "high",
  blocks: true,
  advice: "remove the characters; a model reads them, and a person does not see them",
} as const;

export const SOFT = {
  owasp: "AST05",
  severity: "medium",
  confidence: "medium",
  advice: "remove the characters",
} as const;

/** A run of one kind of unseen character; null where a language or an emoji needs it. */
export type Check = (
  run: Run,
  text: string,
  file: ScannedText,
) => (RuleFacts & { blocks?: boolean }) | null;

export interface Run {
  readonly start: number;
  readonly end: number;
  readonly count: number;
}

import type { Diagnostic } from "@switchyard/contracts/skill-importer/skills";

/** A diagnostic without its file: parsers see only text, and their caller adds the file. */
export type Finding = Omit<Diagnostic, "file">;

/** 1-based position in a file. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

const NOWHERE = { line: null, column: null };

const findingOf =
  (severity: Finding["severity"]) =>
  (code: string, message: string, at: Position | null = null): Finding => {
    return { severity, code, message, ...(at ?? NOWHERE) };
  };

/** The file cannot be used and is skipped. */
export const errorFinding = findingOf("error");
/** The file is used, but not quite as its author may believe. */
export const warningFinding = findingOf("warning");
/** Creates a finding that is no problem. */
export const infoFinding = findingOf("info");

import type { Diagnostic } from "@switchyard/contracts/skills";

/** A diagnostic whose file is not known yet: parsers see text, their caller knows where it came from. */
export type Finding = Omit<Diagnostic, "file">;

/** 1-based position in a file. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

const NOWHERE = { line: null, column: null };

/** The file cannot be used and is skipped. */
export function errorFinding(code: string, message: string, at: Position | null = null): Finding {
  return { severity: "error", code, message, ...(at ?? NOWHERE) };
}

/** The file is used, but not quite as its author may believe. */
export function warningFinding(code: string, message: string, at: Position | null = null): Finding {
  return { severity: "warning", code, message, ...(at ?? NOWHERE) };
}

/** Worth knowing; nothing is wrong. */
export function infoFinding(code: string, message: string, at: Position | null = null): Finding {
  return { severity: "info", code, message, ...(at ?? NOWHERE) };
}

import { textFindings } from "./text-findings.ts";

/** Longer than those of any server in use that we know; they are part of each list of one server's tools. */
const MAX_CHARACTERS = 16_000;

/**
 * A server's instructions as clients get them: no pin covers this text, so one with hidden characters, for which a tool would be held, is
 * left out. `problem` states why.
 */
export function shownInstructions(
  instructions: string | undefined,
): { readonly instructions: string | null } & { readonly problem?: string } {
  if (instructions === undefined || instructions === "") return { instructions: null };
  if (instructions.length > MAX_CHARACTERS)
    return { instructions: null, problem: `they have more than ${MAX_CHARACTERS} characters` };
  const held = textFindings({ instructions }).find(({ severity }) => severity === "hard");
  if (held !== undefined) return { instructions: null, problem: `${held.code}: ${held.evidence}` };
  return { instructions };
}

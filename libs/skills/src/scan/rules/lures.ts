import type { ScanFinding } from "@switchyard/contracts/skill-importer/skill-scan";
import type { Destinations } from "../destinations.ts";
import { findingAt } from "../rule.ts";
import type { ScannedText } from "../scanned-text.ts";
import { lureSigns, mayLink, type LureSign, type Sign } from "./lure-signs.ts";

/**
 * Known campaigns do not attack with code but with prose: a "prerequisite" that the user must fetch and run. No single sign is
 * bad. Close together they are: an untrusted source, or a form that cannot be inspected, and an instruction to a person to run
 * the result.
 */
const BLOCKING: readonly Way[] = [
  { signs: ["archive_password", "run_program"], lines: 40 },
  { signs: ["paste_link", "terminal"], lines: 12 },
  { signs: ["address_program", "run_program"], lines: 12 },
  { signs: ["lookalike_tool", "required", "install"], lines: 4 },
  { signs: ["hidden_link", "run_program", "required"], lines: 12 },
  { signs: ["no_protection", "program_link", "run_program"], lines: 40 },
];
/** Combinations that deserve a review. */
const NOTED: readonly Way[] = [
  { signs: ["program_link", "run_program", "required"], lines: 40 },
  { signs: ["archive_password"], lines: 1 },
  { signs: ["paste_link", "run_program"], lines: 40 },
  { signs: ["hidden_link", "install"], lines: 12 },
  { signs: ["lookalike_tool"], lines: 1 },
];

/** The signs that must all occur within this many lines; blank lines do not count. */
interface Way {
  readonly signs: readonly LureSign[];
  readonly lines: number;
}

/** Blocks when all signs of one lure occur within one section of a Markdown file. */
export function luresIn(text: ScannedText, destinations: Destinations): ScanFinding[] {
  if (text.kind !== "markdown" || !mayLink(text.text)) return [];
  const seen = lureSigns(text, destinations);
  const blocking = firstTogether(seen, BLOCKING);
  const found = blocking ?? firstTogether(seen, NOTED);
  if (found === null) return [];
  const isBlocked = blocking !== null;
  const names = found.map(({ says }) => says).join(", ");
  const [first] = found.toSorted((one, other) => one.offset - other.offset);
  return [
    findingAt(
      text,
      { start: first?.offset ?? 0, length: first?.length ?? 0 },
      {
        code: "social_prerequisite",
        owasp: "AST01",
        severity: isBlocked ? "critical" : "medium",
        confidence: isBlocked ? "high" : "low",
        blocks: isBlocked,
        message: `asks a person to fetch and run something: ${names}`,
        advice: "run nothing that a skill's text asks for; get the program from its maker",
      },
    ),
  ];
}

/** Returns the signs of the first combination that is complete; each sign is checked once, in the order of the text. */
function firstTogether(seen: readonly Sign[], ways: readonly Way[]): readonly Sign[] | null {
  const last = new Map<LureSign, Sign>();
  for (const sign of seen) {
    last.set(sign.is, sign);
    for (const { signs, lines } of ways) {
      if (!signs.includes(sign.is)) continue;
      const near = signs.map((is) => last.get(is)).filter((one) => one !== undefined);
      if (near.length < signs.length) continue;
      if (near.every(({ line }) => sign.line - line <= lines)) return near;
    }
  }
  return null;
}

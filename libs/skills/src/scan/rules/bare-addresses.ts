import type { ScanFinding } from "@switchyard/contracts/skill-importer/skill-scan";
import type { Destinations } from "../destinations.ts";
import { findingAt, type RuleFacts } from "../rule.ts";
import type { ScannedText } from "../scanned-text.ts";

const FOUR_NUMBERS = /\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}/g;
/** A part of a longer number, of a path, or a version. */
const BEFORE = /(?:[\w./-]|[<>~^]|[<>~!^=]=|version\W{0,4})$/;
const AFTER = /^(?:\w|\.\d)/;
const MAX_FINDINGS = 5;
const FACTS: RuleFacts = {
  code: "bare_address",
  owasp: "AST02",
  severity: "medium",
  confidence: "medium",
  message: "names a bare address in code",
  advice: "use a host whose owner is known",
};

/** Finds addresses without a scheme in code. Private and local addresses and those for examples are left out. */
export function bareAddresses(text: ScannedText, destinations: Destinations): ScanFinding[] {
  if (text.kind === "data") return [];
  const findings: ScanFinding[] = [];
  for (const { 0: seen, index: start } of text.text.matchAll(FOUR_NUMBERS)) {
    const end = start + seen.length;
    if (BEFORE.test(text.text.slice(Math.max(0, start - 12), start))) continue;
    if (AFTER.test(text.text.slice(end, end + 2))) continue;
    const { kind } = destinations.of(seen);
    if ((kind !== "address" && kind !== "known_bad") || !isInCode(text, start)) continue;
    findings.push(findingAt(text, { start, length: seen.length }, FACTS));
    if (findings.length >= MAX_FINDINGS) break;
  }
  return findings;
}

function isInCode(text: ScannedText, offset: number): boolean {
  if (text.kind === "script") return true;
  const index = text.lineIndexAt(offset);
  if (text.contextAt(index).isCode) return true;
  const line = text.lineAt(index);
  const column = offset - text.startOf(index);
  const isSpan = line.slice(0, column).split("`").length % 2 === 0;
  return (
    isSpan ||
    /\b(?:curl|wget|nc|ncat|ssh|scp|bash|python3?)\b[^.]{0,60}$/.test(line.slice(0, column))
  );
}

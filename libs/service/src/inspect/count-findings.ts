import type { Finding, FindingCounts } from "@switchyard/contracts/policy/findings";
import { findInText } from "./find-in-text.ts";
import { NotInspectedError, rewriteTexts } from "./texts-of.ts";

/** A found value. */
export interface FoundValue {
  readonly kind: Finding;
  readonly value: string;
}

/** Counts the different values in all texts of a JSON value; null when it is too long or too deep to be inspected. */
export function countFindings(value: unknown, kinds: readonly Finding[]): FindingCounts | null {
  const found: FoundValue[] = [];
  try {
    rewriteTexts(value, (text) => {
      for (const { kind, start, end } of findInText(text, kinds))
        found.push({ kind, value: text.slice(start, end) });
      return text;
    });
  } catch (error) {
    if (error instanceof NotInspectedError) return null;
    throw error;
  }
  return countsOf(found);
}

/** Counts each value once: a result often has the same content as text and as structured content. */
export function countsOf(found: readonly FoundValue[]): FindingCounts {
  const counts: FindingCounts = {};
  const distinct = new Map(found.map((one) => [`${one.kind}:${one.value}`, one.kind]));
  for (const kind of distinct.values()) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}

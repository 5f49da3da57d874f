import { z } from "zod";

/** The kinds of content that inspectors find in arguments and results of calls. */
export const Finding = z.enum(["secret", "iban", "card", "ssn", "host", "injection"]);
export type Finding = z.infer<typeof Finding>;

/** The number of findings of each kind; a kind without any is left out. The audit has these, and never the values. */
export const FindingCounts = z.partialRecord(Finding, z.int().positive());
export type FindingCounts = z.infer<typeof FindingCounts>;

/** The effect of a rule about results: `mask` replaces what was found, `deny` withholds the whole result. */
export const ResultEffect = z.enum(["mask", "deny"]);
export type ResultEffect = z.infer<typeof ResultEffect>;

/** The part of a decision that the tool provider carries out: what to do with findings in the result, and with masks in the arguments. */
export const Inspection = z.object({
  /** The kinds to look for in the result, each with the effect and the rule that decided it. */
  results: z.partialRecord(Finding, z.object({ effect: ResultEffect, rule: z.string() })),
  /** The kinds of masks in the arguments that are replaced with their values when the call is made. */
  unmask: z.array(Finding),
});
export type Inspection = z.infer<typeof Inspection>;

const MASK = /⟦(secret|iban|card|ssn|host):(\d{1,6})⟧/g;

/** Writes the mask of a value that the run can get back: `⟦iban:1⟧`. */
export function maskText(kind: Finding, number: number): string {
  return `⟦${kind}:${number}⟧`;
}

/** Writes a mask that nothing turns back: `⟦iban⟧`. */
export function lostMaskText(kind: Finding): string {
  return `⟦${kind}⟧`;
}

/** Returns the masks in a text, without those that cannot be turned back. */
export function masksIn(text: string): { readonly kind: Finding; readonly mask: string }[] {
  // Most texts have none, and this test is far cheaper than the pattern.
  if (!text.includes("⟦")) return [];
  return [...text.matchAll(MASK)].map(([mask, kind]) => ({ kind: Finding.parse(kind), mask }));
}

/** Replaces each mask of a text by what the function returns for it. */
export function replaceMasks(text: string, by: (mask: string) => string): string {
  return text.includes("⟦") ? text.replaceAll(MASK, (mask) => by(mask)) : text;
}

/** Writes counts for people: `2 card, 1 iban`. */
export function findingsText(counts: FindingCounts): string {
  return Finding.options
    .flatMap((kind) => (counts[kind] === undefined ? [] : [`${counts[kind]} ${kind}`]))
    .join(", ");
}

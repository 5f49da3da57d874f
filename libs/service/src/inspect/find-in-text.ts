import type { Finding } from "@switchyard/contracts/policy/findings";
import { findCards, findIbans, findSsns } from "./checked-numbers.ts";
import { findHosts } from "./find-hosts.ts";
import { foldText } from "./fold-text.ts";
import { findInjections } from "./injection-phrases.ts";
import { findSecrets } from "./secret-shapes.ts";
import type { Span } from "./span.ts";

export interface Found extends Span {
  readonly kind: Finding;
}

/** The inspectors. Each is linear in the text. */
const INSPECTORS: Readonly<Record<Finding, (text: string) => Span[]>> = {
  secret: findSecrets,
  iban: findIbans,
  card: findCards,
  ssn: findSsns,
  host: findHosts,
  injection: findInjections,
};

/** Finds content of the kinds in a text, in any order. Findings of two kinds may overlap. */
export function findInText(text: string, kinds: readonly Finding[]): Found[] {
  const folded = foldText(text);
  return kinds.flatMap((kind) =>
    INSPECTORS[kind](folded.text).map((span) => {
      const { start, end } = folded.range(span.start, span.end);
      return { kind, start, end };
    }),
  );
}

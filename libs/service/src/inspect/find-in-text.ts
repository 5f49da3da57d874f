import type { Finding } from "@switchyard/contracts/policy/findings";
import { findCards, findIbans, findSsns } from "./checked-numbers.ts";
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

const NAME = String.raw`(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)`;
const TOP_LEVELS =
  "com|net|org|edu|gov|mil|int|info|biz|io|dev|app|cloud|xyz|top|site|online|club|shop|ru|cn|de|uk|fr|nl|eu|us|ch|at|it|es|pl|br|in|jp|kr";
const BYTE = String.raw`(?:25[0-5]|2[0-4]\d|1?\d?\d)`;

/** The host of a URL or of a mail address, an IPv4 address, and a bare name below a common top-level domain. The host is at the end of each match. */
const HOST = new RegExp(
  [
    String.raw`:\/\/(?:[^\s/?#@"'<>]{0,200}@)?(\[[0-9a-f:.]{2,45}\]|[\p{L}\p{N}_-][\p{L}\p{N}._-]{0,252})`,
    String.raw`(?<=[\w.+-]@)(${NAME}{1,8}[a-z]{2,24})`,
    String.raw`(?<![\w.:-])(${BYTE}(?:\.${BYTE}){3})(?![\w-]|\.\d)`,
    String.raw`(?<![\w.@/-])(${NAME}{1,8}(?:${TOP_LEVELS}))(?![\w-]|\.\w|\()`,
  ].join("|"),
  "giu",
);

function findHosts(text: string): Span[] {
  return [...text.matchAll(HOST)].map((match) => {
    const host = match[1] ?? match[2] ?? match[3] ?? match[4] ?? "";
    const end = match.index + match[0].length;
    return { start: end - host.length, end: end - (/\.+$/.exec(host)?.[0].length ?? 0) };
  });
}

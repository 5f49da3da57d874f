import type { Finding } from "@switchyard/contracts/policy/findings";
import { isRecord } from "@switchyard/contracts/json-record";
import type { FoundValue } from "./count-findings.ts";
import { findInText, type Found } from "./find-in-text.ts";
import { rewriteTexts } from "./texts-of.ts";

/** Content that was inspected. */
export interface Inspected {
  readonly found: readonly FoundValue[];
  /** Copies the content with each found value of these kinds replaced by its mask. */
  mask(kinds: ReadonlySet<Finding>, maskOf: (found: FoundValue) => string): unknown;
}

/** A part of one text block; all parts but the first of a value that begins in one block and ends in another are removed. */
interface Part extends FoundValue {
  readonly start: number;
  readonly end: number;
  readonly isFirst: boolean;
}

/**
 * Inspects a value with texts, such as a result. Lists of text blocks are also inspected as one text, because a model reads them as one.
 * Throws NotInspectedError when the value is too long or too deep.
 */
export function inspectContent(content: unknown, kinds: readonly Finding[]): Inspected {
  const known = new Map<string, readonly Part[]>();
  const found: FoundValue[] = [];
  rewriteTexts(content, (text) => {
    const parts = known.get(text) ?? wholeParts(text, kinds);
    known.set(text, parts);
    found.push(...parts);
    return text;
  });
  const splits = blockLists(content).flatMap((texts) =>
    splitValues(texts, kinds, (text) => known.get(text) ?? []),
  );
  found.push(...splits.map(({ kind, value }) => ({ kind, value })));
  return {
    found,
    mask: (masked, maskOf) =>
      rewriteTexts(content, (text) => {
        const parts = [
          ...(known.get(text) ?? []),
          ...splits.flatMap((split) => split.partsOf(text)),
        ];
        return replaceParts(
          text,
          parts.filter(({ kind }) => masked.has(kind)),
          maskOf,
        );
      }),
  };
}

function wholeParts(text: string, kinds: readonly Finding[]): readonly Part[] {
  return findInText(text, kinds).map(({ kind, start, end }) => ({
    kind,
    value: text.slice(start, end),
    start,
    end,
    isFirst: true,
  }));
}

/** Overlapping parts become one, with the mask of the longest. */
function replaceParts(
  text: string,
  parts: readonly Part[],
  maskOf: (found: FoundValue) => string,
): string {
  const ordered = parts.toSorted((a, b) => a.start - b.start || b.end - a.end);
  let result = "";
  let from = 0;
  for (const part of ordered) {
    // The rest of a part that overlaps the one before goes with it.
    if (part.start >= from) {
      result += text.slice(from, part.start);
      if (part.isFirst) result += maskOf(part);
    }
    from = Math.max(from, part.end);
  }
  return result + text.slice(from);
}

/** The texts of each list of content blocks: neighbours of the type `text`, joined by what models put between them. */
function blockLists(content: unknown): string[][] {
  if (Array.isArray(content)) {
    const texts: string[][] = [[]];
    for (const block of content as readonly unknown[]) {
      if (isRecord(block) && block["type"] === "text" && typeof block["text"] === "string")
        texts.at(-1)?.push(block["text"]);
      else texts.push([]);
    }
    return texts.filter((list) => list.length > 1);
  }
  return isRecord(content) ? Object.values(content).flatMap(blockLists) : [];
}

interface SplitValue extends FoundValue {
  partsOf(text: string): Part[];
}

/** Finds values that begin in one text and end in another. */
function splitValues(
  texts: readonly string[],
  kinds: readonly Finding[],
  knownIn: (text: string) => readonly Part[],
): SplitValue[] {
  const starts: number[] = [];
  let length = 0;
  for (const text of texts) {
    starts.push(length);
    length += text.length;
  }
  const joined = texts.join("");
  return findInText(joined, kinds).flatMap((found): SplitValue[] => {
    const pieces = piecesOf(found, { texts, starts });
    const { kind } = found;
    const isKnown = pieces.some(({ text, start, end }) =>
      knownIn(text).some((one) => one.kind === kind && one.start < end && start < one.end),
    );
    if (pieces.length < 2 || isKnown) return [];
    const value = joined.slice(found.start, found.end);
    const whole = [pieces.map(({ piece }) => piece).join("\n"), value];
    return [
      {
        kind,
        value,
        partsOf(text) {
          const own = pieces
            .filter((one) => one.text === text)
            .map(({ start, end, isFirst }) => ({ kind, value, start, end, isFirst }));
          if (own.length > 0) return own;
          // The text form of a result has the blocks on lines of their own.
          return whole.flatMap((form) => {
            const at = text.indexOf(form);
            return at < 0 ? [] : [{ kind, value, start: at, end: at + form.length, isFirst: true }];
          });
        },
      },
    ];
  });
}

function piecesOf(
  { start, end }: Found,
  { texts, starts }: { readonly texts: readonly string[]; readonly starts: readonly number[] },
) {
  let isFirst = true;
  return texts.flatMap((text, index) => {
    const from = starts[index] ?? 0;
    const begin = Math.max(start - from, 0);
    const stop = Math.min(end - from, text.length);
    if (begin >= stop) return [];
    const piece = { text, start: begin, end: stop, piece: text.slice(begin, stop), isFirst };
    isFirst = false;
    return [piece];
  });
}

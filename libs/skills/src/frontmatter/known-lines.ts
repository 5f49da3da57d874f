import { fieldNamed, isFieldName } from "./fields.ts";
import { isRestriction } from "./restrictions.ts";
import { emptyMapping, type YamlMapping, type YamlValue } from "./yaml-value.ts";

const PAIR = /^["']?([A-Za-z][\w-]*)["']?:(?:[ \t]+(.*))?$/;
const BLOCK = /^[|>][-+\d]*$/;

/** True for a key that is read even where its file is not YAML. */
export function isKnownKey(key: string): boolean {
  return (isFieldName(key) && fieldNamed(key).isReadAlone === true) || isRestriction(key);
}

/**
 * The last resort for a frontmatter that is not YAML: reads name, description, argument hint and the restrictions from unindented
 * lines. Everything else is left out, so nothing is granted by it. Null when there is no such line.
 */
export function parseKnownLines(yaml: string): YamlMapping | null {
  const lines = yaml.split("\n");
  const values = emptyMapping();
  let count = 0;
  for (const [index, line] of lines.entries()) {
    const [, key = "", rest = ""] = PAIR.exec(line) ?? [];
    if (!isKnownKey(key)) continue;
    count += 1;
    const written = rest.trim();
    if (!isRestriction(key)) {
      values[key] = textOf(written, textBelow(lines, index + 1, written));
      continue;
    }
    let end = index + 1;
    while (end < lines.length && isBelow(lines[end] ?? "")) end += 1;
    const below = lines.slice(index + 1, end).map((next) => next.trim());
    const isDoubtful = written !== "" && below.some((next) => next !== "");
    const value = isDoubtful ? null : valueOf(written, below);
    // Two readings of a restriction: neither can be believed.
    values[key] = key in values && values[key] !== value ? null : value;
  }
  return count === 0 ? null : values;
}

/** A text without the quotes around it, and without one that has no partner. */
export function withoutQuotes(text: string): string {
  const [, mark, inner] = /^(["'])([^]*)\1$/.exec(text) ?? [];
  if (mark !== undefined && inner !== undefined) {
    return inner.replaceAll(mark === '"' ? '\\"' : "''", mark);
  }
  if (/^["']/.test(text) && hasOpenQuote(text)) return text.slice(1).trimStart();
  // At an end a single quote may be an apostrophe.
  return text.endsWith('"') && text.split('"').length === 2 ? text.slice(0, -1).trimEnd() : text;
}

/** Further in, empty, or an item of a list. */
function isBelow(line: string): boolean {
  return !/^\S/.test(line) || line.startsWith("- ");
}

/**
 * Returns the lines that continue a text. Many authors do not indent, so an unindented line that is no field belongs to it, too:
 * inside open quotes up to the closing quote, in a block all lines, and otherwise up to an empty line or a comment.
 */
function textBelow(lines: readonly string[], start: number, written: string): string[] {
  const isQuoted = /^["']/.test(written) && hasOpenQuote(written);
  const mark = written.slice(0, 1);
  const field = lines.findIndex((line, index) => index >= start && PAIR.test(line));
  const below = lines.slice(start, field < 0 ? lines.length : field);
  const close = isQuoted ? below.findIndex((line) => line.split(mark).length % 2 === 0) : -1;
  if (close >= 0) return below.slice(0, close + 1);
  if (isQuoted || BLOCK.test(written)) return below;
  const end = below.findIndex(
    (line, index) => !isBelow(line) && (line.startsWith("#") || below[index - 1]?.trim() === ""),
  );
  return below.slice(0, end < 0 ? below.length : end);
}

/** Returns the value of a restriction. Its quotes are not guessed: an unreadable value gives the strictest one. */
function valueOf(written: string, below: readonly string[]): YamlValue {
  const items = below.map((line) => line.replace(/^- /, ""));
  const text = BLOCK.test(written) ? items.join(" ") : [written, ...items].join(" ");
  const trimmed = text.trim();
  const [, , inner] = /^(["'])(.*)\1$/.exec(trimmed) ?? [];
  const value = inner ?? trimmed;
  return value === "" ? null : value;
}

/** True when the quote that a text begins with occurs an odd number of times. */
function hasOpenQuote(text: string): boolean {
  return text.split(text.slice(0, 1)).length % 2 === 0;
}

function textOf(written: string, below: readonly string[]): YamlValue {
  const isWhole = /^(["']).*\1$/.test(written) && written.length > 1;
  const first = BLOCK.test(written) ? "" : isWhole ? withoutQuotes(written) : written;
  const more = below.map((line) => line.trim().replace(/^- /, "")).filter((line) => line !== "");
  const text = [first, ...more].join(" ").trim();
  const value = isWhole ? text : withoutQuotes(text);
  return value === "" ? null : value;
}

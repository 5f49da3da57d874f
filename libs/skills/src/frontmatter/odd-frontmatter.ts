import { cutText } from "@switchyard/contracts/cut-text";
import { warningFinding, type Finding } from "../finding.ts";
import { hasRestrictionLine } from "./restrictions.ts";

/** A frontmatter without the `---` lines that every client supports. */
export interface OddFrontmatter {
  readonly yaml: string;
  readonly linesBefore: number;
  readonly body: string;
  readonly repair: Finding;
}

/** The largest of 62,000 public skills is 9.6 KB; the YAML parser's cost grows with this. */
export const MAX_FRONTMATTER_BYTES = 16 * 1024;

const BLANKS = /^[\s\uFEFF\u200B-\u200D\u2060]*/;
/** Rules of other characters, or of another length, or behind spaces: `----`, ` ---`, `———`, `+++`. */
const RULE =
  /^[^\S\n]*(?:-{2,8}|[\p{Pd}\u2212-]{1,8}|\+{3,8}|={3,8}|\*{3,8}|_{3,8}|~{3,8}|\.{3})[^\S\n]*$/u;
const FIELD = /^[ \t]*["'“‘]?[\p{L}][\p{L}\p{N}\p{Pd}_. -]{0,40}["'”’]?[ \t]*[:：=]/u;
/** A line that may be between the fields: indented, a list item, a comment, brackets. */
const FIELD_PART = /^(?:[ \t]+\S|- |#(?!#)|[[\]{}])/;
const MAX_LINES = 256;
export const KNOWN_FIELD = /^[ \t"'“‘*>-]{0,12}(?:name|description)["'”’*]{0,3}[ \t]*[:：=]/imu;

/**
 * Fields at the beginning of a text that other clients take for its body: between rules of another kind, as JSON, or with
 * no rule above them. Null where the text begins with anything else.
 */
export function splitOdd(text: string): OddFrontmatter | null {
  const blank = BLANKS.exec(text)?.[0] ?? "";
  const head = text.slice(blank.length, blank.length + MAX_FRONTMATTER_BYTES);
  const linesAbove = blank.split("\n").length - 1;
  const end = head.startsWith("{") ? endOfJson(head) : null;
  if (end !== null) {
    const yaml = head.slice(0, end);
    if (!hasKnownField(yaml.replaceAll(/[{,]/g, "\n"))) return null;
    const repair = notStandard(
      "the fields are JSON without a line --- above and below",
      linesAbove,
    );
    return { yaml, linesBefore: linesAbove, body: text.slice(blank.length + end), repair };
  }
  const lines = head.split("\n", MAX_LINES);
  const hasRule = RULE.test(lines[0] ?? "");
  const fields = fieldLines(hasRule ? lines.slice(1) : lines);
  if (fields === null || (!hasRule && fields.count < 2)) return null;
  const yaml = lines.slice(hasRule ? 1 : 0, fields.end + (hasRule ? 1 : 0)).join("\n");
  if (!hasKnownField(yaml)) return null;
  const used = fields.end + (hasRule ? 1 : 0) + (fields.isClosed ? 1 : 0);
  const usedLength = lines.slice(0, used).reduce((sum, line) => sum + line.length + 1, 0);
  const message = hasRule
    ? `the fields are below ${JSON.stringify(cutText(lines[0] ?? "", 12))} and not below a line ---`
    : "no line --- is above the fields";
  return {
    yaml: `${yaml}\n`,
    linesBefore: linesAbove + (hasRule ? 1 : 0),
    body: text.slice(Math.min(text.length, blank.length + usedLength)),
    repair: notStandard(message, linesAbove),
  };
}

/**
 * Counts the lines that are fields with their continuations: up to a rule; without one, up to the first blank line, heading or
 * sentence. Null when the first is no field.
 */
function fieldLines(
  lines: readonly string[],
): { end: number; count: number; isClosed: boolean } | null {
  let count = 0;
  let open: number | null = null;
  for (const [index, line] of lines.entries()) {
    if (RULE.test(line)) return count === 0 ? null : { end: index, count, isClosed: true };
    if (FIELD.test(line)) {
      // Below a blank line only a rule proves that it is one of them.
      if (open === null) count += 1;
    } else if (count === 0 && !line.startsWith("#")) {
      return null;
    } else if (line.trim() === "") {
      open ??= index;
    } else if (!FIELD_PART.test(line)) {
      return count === 0 ? null : { end: open ?? index, count, isClosed: false };
    }
  }
  return count === 0 ? null : { end: open ?? lines.length, count, isClosed: false };
}

export function hasKnownField(text: string): boolean {
  return KNOWN_FIELD.test(text) || hasRestrictionLine(text);
}

/** Returns the end of the object that a text begins with. */
function endOfJson(text: string): number | null {
  let depth = 0;
  for (const match of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}]/g)) {
    if (match[0] === "{") depth += 1;
    if (match[0] === "}") depth -= 1;
    if (depth === 0) return match.index + 1;
  }
  return null;
}

function notStandard(message: string, linesAbove: number): Finding {
  return warningFinding(
    "repaired_delimiter",
    `${message}, so other clients take them for text; put them between two lines ---, the first of them the file's first line`,
    { line: linesAbove + 1, column: 1 },
  );
}

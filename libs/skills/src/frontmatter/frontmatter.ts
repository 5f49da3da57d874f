import { errorFinding, warningFinding, type Finding } from "../finding.ts";
import { misplacedBelow, misplacedFields } from "./misplaced-fields.ts";
import { MAX_FRONTMATTER_BYTES, splitOdd } from "./odd-frontmatter.ts";

export type Frontmatter =
  | {
      readonly kind: "none";
      readonly body: string;
      readonly findings: readonly Finding[];
      /** The part that its author may have meant as frontmatter: here and for other clients it belongs to the body. */
      readonly unread?: string;
    }
  | {
      readonly kind: "found";
      readonly yaml: string;
      /** The lines of the file before the YAML text: added to a line of the block, they give the line of the file. */
      readonly linesBefore: number;
      readonly body: string;
      /** Set when other clients do not find the beginning or the end of the block. */
      readonly repair?: Finding;
      /** A second block of fields, with which the body begins. */
      readonly unread?: string;
    }
  | { readonly kind: "broken"; readonly problem: Finding };

const OPENING = /^---[ \t]*(?:\n|$)/;
const CLOSING = /^---[ \t]*$/m;
const BLANK_ABOVE = /^(?:[ \t]*\n)+(?=---[ \t]*\n)/;
/** A line end that got lost: `---# Heading`. */
const CLOSING_WITH_TEXT = /^---(?=[ \t]*[^-\s])/m;

/**
 * Splits a Markdown text at its frontmatter. Only a bare `---` opens a block: a language after it
 * (`---js`) is text, because a parser that honours it runs code from the file.
 */
export function splitFrontmatter(text: string): Frontmatter {
  const opening = OPENING.exec(text);
  if (opening === null)
    return (
      splitBelowBlanks(text) ??
      splitOddly(text) ?? { kind: "none", body: text, ...misplacedFields(text) }
    );
  const rest = text.slice(opening[0].length);
  const bare = CLOSING.exec(rest);
  const closing = bare ?? CLOSING_WITH_TEXT.exec(rest);
  if (closing === null) {
    const message = "unterminated YAML frontmatter: put a line --- after the last field";
    return broken("unterminated_frontmatter", message, 1);
  }
  const yaml = rest.slice(0, closing.index);
  const sizeBytes = Buffer.byteLength(yaml);
  if (sizeBytes > MAX_FRONTMATTER_BYTES) {
    const message = `the frontmatter has ${sizeBytes} bytes, the limit is ${MAX_FRONTMATTER_BYTES}; move text into the body`;
    return broken("frontmatter_too_large", message, 2);
  }
  const body = rest.slice(closing.index + closing[0].length + (bare === null ? 0 : 1));
  const second = misplacedBelow(body);
  return {
    kind: "found",
    yaml,
    linesBefore: 1,
    body,
    ...repairOf(yaml, bare !== null),
    ...(second === null ? {} : { unread: second }),
  };
}

/** A heading between blank lines: the fields ended before it, so the closing line is a rule of the text. */
const HEADING_INSIDE = /\n[ \t]*\n#{1,6} [^\n]*\n[ \t]*\n/;

function repairOf(yaml: string, isBare: boolean): { repair?: Finding } {
  if (!isBare) return { repair: lineEndLost(yaml) };
  const heading = yaml.includes("\n#") ? HEADING_INSIDE.exec(yaml) : null;
  if (heading === null) return {};
  const line = yaml.slice(0, heading.index).split("\n").length + 3;
  const message =
    "a heading is in the frontmatter, which ends at a line --- further down; put a line --- after the last field";
  return { repair: repairedDelimiter(message, line) };
}

function broken(code: string, message: string, line: number): Frontmatter {
  return { kind: "broken", problem: errorFinding(code, message, { line, column: 1 }) };
}

/** Reads a frontmatter below blank lines. Null when the text does not begin with blank lines, or when a horizontal rule follows them. */
function splitBelowBlanks(text: string): Frontmatter | null {
  const blank = BLANK_ABOVE.exec(text)?.[0];
  if (blank === undefined) return null;
  const split = splitFrontmatter(text.slice(blank.length));
  if (split.kind !== "found") return null;
  const linesAbove = blank.split("\n").length - 1;
  const repair = repairedDelimiter(
    "blank lines stand above the frontmatter; it must begin in the first line",
    1,
  );
  return { ...split, linesBefore: split.linesBefore + linesAbove, repair };
}

function lineEndLost(yaml: string): Finding {
  return repairedDelimiter(
    "the frontmatter ends with --- and text behind it; put that text on a line of its own",
    yaml.split("\n").length + 1,
  );
}

function repairedDelimiter(message: string, line: number): Finding {
  return warningFinding("repaired_delimiter", message, { line, column: 1 });
}

/** Returns null when the text begins with no fields, or with a fence that names a language. */
function splitOddly(text: string): Frontmatter | null {
  const odd = /^---[^-\s]/.test(text) ? null : splitOdd(text);
  return odd === null ? null : { kind: "found", ...odd };
}

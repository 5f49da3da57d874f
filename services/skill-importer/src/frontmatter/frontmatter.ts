import { cutText } from "@switchyard/contracts/cut-text";
import { errorFinding, warningFinding, type Finding } from "../finding.ts";

/** The largest of 62,000 public skills is 9.6 KB; the YAML parser's cost grows with this. */
const MAX_FRONTMATTER_BYTES = 16 * 1024;

export type Frontmatter =
  | {
      readonly kind: "none";
      readonly body: string;
      readonly findings: readonly Finding[];
      /** What its author may have taken for the frontmatter: a part of the body, for other clients and here. */
      readonly unread?: string;
    }
  | {
      readonly kind: "found";
      readonly yaml: string;
      /** Lines of the file before the YAML text: what turns a line of the block into a line of the file. */
      readonly linesBefore: number;
      readonly body: string;
      /** Set when other clients see no beginning or no end of it. */
      readonly repair?: Finding;
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
    return splitBelowBlanks(text) ?? { kind: "none", body: text, ...misplaced(text) };
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
  return {
    kind: "found",
    yaml,
    linesBefore: 1,
    body: rest.slice(closing.index + closing[0].length + (bare === null ? 0 : 1)),
    ...(bare === null ? { repair: lineEndLost(yaml) } : {}),
  };
}

function broken(code: string, message: string, line: number): Frontmatter {
  return { kind: "broken", problem: errorFinding(code, message, { line, column: 1 }) };
}

/** Null when nothing but blank lines stands there, or when what follows is a rule and no fence. */
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

const ODD_FENCE = /^---[^-][^]*?(?=\n---|\n[ \t]*\n|$)/;
const CODE_BLOCK = /^(`{3,}|~{3,})[a-z]*[ \t]*\n([^]*?)\n\1/;
const LATER_BLOCK = /^---[ \t]*\n([^]*?)\n---[ \t]*$/m;
/** Licences and titles are written above; what stands further down is an example. */
const LOOKED_AT_LINES = 20;
const A_FIELD = /^(?:name|description|allowed-tools)[ \t]*:/m;

/** Fields that stand where nobody reads them. */
function misplaced(text: string): { findings: Finding[]; unread?: string } {
  const [first = ""] = text.split("\n", 1);
  if (/^---[^-]/.test(first)) {
    const message =
      "the first line is not a bare ---, so the whole file is the body; put the fields on lines of their own between two lines ---";
    return { findings: [notRecognised(message, 1)], unread: ODD_FENCE.exec(text)?.[0] ?? first };
  }
  const head = text.split("\n", LOOKED_AT_LINES).join("\n");
  const code = CODE_BLOCK.exec(cutText(text, MAX_FRONTMATTER_BYTES))?.[2];
  if (code !== undefined && A_FIELD.test(code)) {
    const message =
      "the fields stand in a code block, so the whole file is the body; begin the file with a line --- in place of the block's";
    return { findings: [notRecognised(message, 1)], unread: code };
  }
  const begin = /^---[ \t]*$/m.exec(head)?.index;
  if (begin === undefined) return { findings: [] };
  const later = LATER_BLOCK.exec(text.slice(begin, begin + MAX_FRONTMATTER_BYTES))?.[1];
  if (later === undefined || !A_FIELD.test(later)) return { findings: [] };
  const line = head.slice(0, begin).split("\n").length;
  const message =
    "the fields begin here and not in the first line, so the whole file is the body; put what stands above below them";
  return { findings: [notRecognised(message, line)], unread: later };
}

function notRecognised(message: string, line: number): Finding {
  return warningFinding("frontmatter_not_recognised", message, { line, column: 1 });
}

import { errorFinding, warningFinding, type Finding } from "../finding.ts";

/** The largest of 62,000 public skills is 9.6 KB; the YAML parser's cost grows with this. */
const MAX_FRONTMATTER_BYTES = 16 * 1024;

export type Frontmatter =
  | { readonly kind: "none"; readonly body: string; readonly findings: readonly Finding[] }
  | {
      readonly kind: "found";
      readonly yaml: string;
      /** Lines of the file before the YAML text: what turns a line of the block into a line of the file. */
      readonly linesBefore: number;
      readonly body: string;
      /** Set when the line that ends the block has text behind it: other clients see no end. */
      readonly repair?: Finding;
    }
  | { readonly kind: "broken"; readonly problem: Finding };

const OPENING = /^---[ \t]*(?:\n|$)/;
const CLOSING = /^---[ \t]*$/m;
/** A line end that got lost: `---# Heading`. */
const CLOSING_WITH_TEXT = /^---(?=[ \t]*[^-\s])/m;

/**
 * Splits a Markdown text at its frontmatter. Only a bare `---` opens a block: a language after it
 * (`---js`) is text, because a parser that honours it runs code from the file.
 */
export function splitFrontmatter(text: string): Frontmatter {
  const opening = OPENING.exec(text);
  if (opening === null) return { kind: "none", body: text, findings: oddFence(text) };
  const rest = text.slice(opening[0].length);
  const bare = CLOSING.exec(rest);
  const closing = bare ?? CLOSING_WITH_TEXT.exec(rest);
  if (closing === null) {
    return {
      kind: "broken",
      problem: errorFinding(
        "unterminated_frontmatter",
        "unterminated YAML frontmatter: put a line --- after the last field",
        { line: 1, column: 1 },
      ),
    };
  }
  const yaml = rest.slice(0, closing.index);
  const sizeBytes = Buffer.byteLength(yaml);
  if (sizeBytes > MAX_FRONTMATTER_BYTES) {
    return {
      kind: "broken",
      problem: errorFinding(
        "frontmatter_too_large",
        `the frontmatter has ${sizeBytes} bytes, the limit is ${MAX_FRONTMATTER_BYTES}; move text into the body`,
        { line: 2, column: 1 },
      ),
    };
  }
  return {
    kind: "found",
    yaml,
    linesBefore: 1,
    body: rest.slice(closing.index + closing[0].length + (bare === null ? 0 : 1)),
    ...(bare === null ? { repair: lineEndLost(yaml) } : {}),
  };
}

function lineEndLost(yaml: string): Finding {
  return warningFinding(
    "repaired_delimiter",
    "the frontmatter ends with --- and text behind it; put that text on a line of its own",
    { line: yaml.split("\n").length + 1, column: 1 },
  );
}

function oddFence(text: string): Finding[] {
  const [first = ""] = text.split("\n", 1);
  if (!/^---[^-]/.test(first)) return [];
  return [
    warningFinding(
      "frontmatter_not_recognised",
      "the first line is not a bare ---, so the whole file is the body; put the fields on lines of their own between two lines ---",
      { line: 1, column: 1 },
    ),
  ];
}

import { cutText } from "@switchyard/contracts/cut-text";
import { warningFinding, type Finding } from "../finding.ts";
import { hasKnownField, KNOWN_FIELD, MAX_FRONTMATTER_BYTES } from "./odd-frontmatter.ts";
import { hasRestrictionLine } from "./restrictions.ts";

/** Fields in a position where no client reads them. */
export interface MisplacedFields {
  readonly findings: Finding[];
  /** The text that the author may have taken for the frontmatter. */
  readonly unread?: string;
}

const ODD_FENCE = /^---[^-][^]*?(?=\n---|\n[ \t]*\n|$)/;
const CODE_BLOCK = /^(`{3,}|~{3,})[a-z]*[ \t]*\n([^]*?)\n\1/;
const LATER_BLOCK = /^---[ \t]*\n([^]*?)\n---[ \t]*$/gm;
/** Licences are above, of any length. */
const COMMENTS = /^(?:\s|<!--[^]*?-->|\/\*[^]*?\*\/|(?:#!?|\/\/)[^\n]*\n)*/;
/** Lines without a block further down are text. */
const HEAD_LINES = 20;

/** Searches for fields in a text that does not begin with a frontmatter. */
export function misplacedFields(text: string): MisplacedFields {
  const [first = ""] = text.split("\n", 1);
  if (/^---[^-]/.test(first)) {
    const message =
      "the first line is not a bare ---, so the whole file is the body; put the fields on lines of their own between two lines ---";
    return { findings: [notRecognised(message, 1)], unread: ODD_FENCE.exec(text)?.[0] ?? first };
  }
  const start = cutText(text, MAX_FRONTMATTER_BYTES);
  const code = CODE_BLOCK.exec(start)?.[2];
  if (code !== undefined && hasKnownField(code)) {
    const message =
      "the fields are in a code block, so the whole file is the body; begin the file with a line --- in place of the block's";
    return { findings: [notRecognised(message, 1)], unread: code };
  }
  const above = COMMENTS.exec(text)?.[0].length ?? 0;
  // A block further down is an example.
  const near = above + firstLines(text.slice(above), HEAD_LINES).length;
  const head = text.slice(0, near + MAX_FRONTMATTER_BYTES);
  for (const block of head.matchAll(LATER_BLOCK)) {
    if (block.index > near) break;
    if (!hasKnownField(block[1] ?? "")) continue;
    const message =
      "the fields begin here and not in the first line, so the whole file is the body; put the text above below them";
    const line = head.slice(0, block.index).split("\n").length;
    return { findings: [notRecognised(message, line)], unread: block[1] ?? "" };
  }
  return fieldsInText(text, above);
}

/** Lines such as `name: …` near the top, with no block around them. */
function fieldsInText(text: string, above: number): MisplacedFields {
  const head = withoutCode(
    `${firstLines(text, HEAD_LINES)}\n${firstLines(text.slice(above), HEAD_LINES)}`,
  );
  const isNamed = [/name/i, /description/i].every((word) =>
    head.split("\n").some((line) => KNOWN_FIELD.test(line) && word.test(line)),
  );
  if (!isNamed && !hasRestrictionLine(head)) return { findings: [] };
  const message =
    "fields such as name and description are in the text, so nothing reads them; put them between two lines ---, the first of them the file's first line";
  return { findings: [notRecognised(message, 1)], unread: head };
}

/** Returns a second block of fields at the beginning of a body whose frontmatter was read; null when it restricts nothing. */
export function misplacedBelow(body: string): string | null {
  const from = /\S/.exec(body)?.index ?? 0;
  const start = body.slice(from, from + 200);
  if (!/^(?:---|["'“*_-]{0,3}\p{L}[^\n:：=]{3,40}[:：=])/u.test(start)) return null;
  const head = body.slice(from, from + MAX_FRONTMATTER_BYTES).replace(/^---[ \t]*\n/, "");
  const [block = ""] = /^(?:[^\n]+(?:\n|$)){1,64}/.exec(head) ?? [];
  return hasRestrictionLine(block) ? block : null;
}

/** Removes fenced blocks, which show the content of other files. */
function withoutCode(text: string): string {
  return text.replaceAll(/^[ \t]*(```|~~~)[^]*?(?:\n[ \t]*\1|$(?![^]))/gm, "");
}

function firstLines(text: string, count: number): string {
  return text.split("\n", count).join("\n");
}

function notRecognised(message: string, line: number): Finding {
  return warningFinding("frontmatter_not_recognised", message, { line, column: 1 });
}

import type { Position } from "../finding.ts";

export type TextKind = "markdown" | "script" | "data";

/** The context of one line of a file, computed for rules. */
export interface LineContext {
  /** The language of the fenced block that contains the line, empty when none is given; null outside of one. */
  readonly fence: string | null;
  /** True inside a fenced or an indented block, whose text does not address the reader. */
  readonly isCode: boolean;
  /** The text of the heading above, empty when there is none. */
  readonly heading: string;
  /** Within `<!-- -->`, invisible to a reader of the rendered page. */
  readonly isComment: boolean;
}

/** The text of one file with its lines and their offsets. Costly parts are computed lazily. */
export class ScannedText {
  readonly file: string;
  readonly kind: TextKind;
  readonly text: string;
  /** The number of further matches that may be checked for being a mention: only a file that was made to cost time has more. */
  looksLeft = 300;
  #starts: number[] | null = null;
  #contexts: LineContext[] | null = null;

  constructor(file: string, kind: TextKind, text: string) {
    this.file = file;
    this.kind = kind;
    this.text = text;
  }

  get lineCount(): number {
    return this.#lineStarts().length;
  }

  /** 0-based index of the line an offset is in. */
  lineIndexAt(offset: number): number {
    const starts = this.#lineStarts();
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  positionAt(offset: number): Position {
    const index = this.lineIndexAt(offset);
    return { line: index + 1, column: offset - (this.#lineStarts()[index] ?? 0) + 1 };
  }

  lineAt(index: number): string {
    const starts = this.#lineStarts();
    const start = starts[index];
    if (start === undefined) return "";
    const next = starts[index + 1];
    return this.text.slice(start, next === undefined ? undefined : next - 1);
  }

  startOf(index: number): number {
    return this.#lineStarts()[index] ?? this.text.length;
  }

  contextAt(index: number): LineContext {
    this.#contexts ??= contextsOf(this);
    return this.#contexts[index] ?? NO_CONTEXT;
  }

  #lineStarts(): number[] {
    if (this.#starts !== null) return this.#starts;
    const starts = [0];
    for (let at = this.text.indexOf("\n"); at >= 0; at = this.text.indexOf("\n", at + 1)) {
      starts.push(at + 1);
    }
    this.#starts = starts;
    return starts;
  }
}

/** Memoises `make` for each text. */
export function perText<T>(make: (text: ScannedText) => T): (text: ScannedText) => T {
  const known = new WeakMap<ScannedText, T>();
  return (text) => {
    const made = known.get(text) ?? make(text);
    known.set(text, made);
    return made;
  };
}

const NO_CONTEXT: LineContext = { fence: null, isCode: false, heading: "", isComment: false };
const FENCE = /^[ \t]{0,12}(```+|~~~+)[ \t]*([\w+#.-]{0,30})/;
const HEADING = /^#{1,6}[ \t]+(.{1,200})/;
const LIST_ITEM = /^\s{0,12}(?:[-*+]|\d{1,3}[.)])\s/;

function contextsOf(text: ScannedText): LineContext[] {
  const contexts: LineContext[] = [];
  if (text.kind !== "markdown") return contexts;
  const bodyStart = frontmatterLines(text);
  const indented = new IndentedCode();
  let open: { mark: string; language: string } | null = null;
  let heading = "";
  let isComment = false;
  for (let index = 0; index < text.lineCount; index += 1) {
    const line = text.lineAt(index);
    const mark = line.includes("```") || line.includes("~~~") ? FENCE.exec(line) : null;
    if (mark !== null && open === null && !isComment) {
      open = { mark: mark[1] ?? "```", language: (mark[2] ?? "").toLowerCase() };
      contexts.push({ fence: open.language, isCode: true, heading, isComment });
      continue;
    }
    const isOpenBefore = isComment;
    const isBody = open === null && index >= bodyStart;
    if (open === null) {
      // A comment of the frontmatter is not a heading.
      if (isBody && line.startsWith("#")) heading = HEADING.exec(line)?.[1] ?? heading;
      if (line.includes("--")) isComment = isCommentAfter(line, isComment);
    }
    contexts.push({
      fence: open?.language ?? null,
      isCode: open !== null || (isBody && !isOpenBefore && indented.take(line)),
      heading,
      isComment: isOpenBefore || isComment || (open === null && line.includes("<!--")),
    });
    if (open !== null && mark !== null && mark[2] === "" && (mark[1] ?? "").startsWith(open.mark)) {
      open = null;
    }
  }
  return contexts;
}

/** Returns the number of lines of the frontmatter, with its fences. */
function frontmatterLines(text: ScannedText): number {
  if (text.lineAt(0).trimEnd() !== "---") return 0;
  for (let index = 1; index < text.lineCount; index += 1) {
    if (text.lineAt(index).trimEnd() === "---") return index + 1;
  }
  return 0;
}

/** Four spaces after a blank line begin code, except below a list's item, where they continue the item. */
class IndentedCode {
  #isInList = false;
  #mayBegin = true;

  take(line: string): boolean {
    if (line.trim() === "") {
      this.#mayBegin = true;
      return false;
    }
    const isIndented = /^(?: {4}|\t)/.test(line);
    if (!isIndented) this.#isInList = LIST_ITEM.test(line) || (this.#isInList && /^\s/.test(line));
    const isCode = isIndented && this.#mayBegin && !this.#isInList;
    this.#mayBegin = isCode;
    return isCode;
  }
}

function isCommentAfter(line: string, isComment: boolean): boolean {
  const opened = line.lastIndexOf("<!--");
  const closed = line.lastIndexOf("-->");
  if (opened < 0 && closed < 0) return isComment;
  return opened > closed;
}

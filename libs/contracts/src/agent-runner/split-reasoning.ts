/** A piece of a model's text: its answer, or its reasoning before. */
export interface ReasoningSegment {
  readonly type: "text" | "reasoning";
  readonly text: string;
}

export interface SplitOptions {
  /**
   * The chat template of the model writes the opening tag into the prompt, as those of DeepSeek-R1 and Qwen's thinking models do, so the
   * text begins inside of the reasoning. It is held back until a closing tag or the end shows which it is.
   */
  readonly startsInReasoning?: boolean;
}

export interface SplitEnd {
  /** The segments that were held back until the end. */
  readonly rest: readonly ReasoningSegment[];
  /**
   * Null, or the true pieces of the whole text in place of all that were returned: it had a closing tag without an opening one, which shows only at
   * the end that the text before it was reasoning.
   */
  readonly corrected: readonly ReasoningSegment[] | null;
}

/** The answer in a complete text, without the reasoning before it. */
export function answerIn(text: string): string {
  const splitter = new ReasoningSplitter();
  const pieces = splitter.push(text);
  const { rest, corrected } = splitter.end();
  return (corrected ?? [...pieces, ...rest])
    .map((piece) => (piece.type === "text" ? piece.text : ""))
    .join("");
}

/**
 * Separates reasoning from the answer where a model writes both into one text, in pieces of any size. Reasoning is:
 * - a block `<think>…</think>` at the beginning, white space aside, and each block that follows it directly. The tag may be `thinking`, `thought` or
 *   `reasoning`, have a prefix (`seed:think`), attributes and blanks, in upper or lower case. A block without an end is reasoning to the end;
 * - everything before a closing tag that begins or ends a line or is directly followed by a word, when no opening tag is before it and no code
 *   is around it.
 *
 * Blocks may be nested. After more opening than closing tags the answer begins behind the last closing one: a template may have written an opening tag
 * that the model wrote again. A tag in quotation marks or backticks is a word. Behind the beginning of the answer no tag has a
 * meaning, so an answer about such tags keeps them. White space between reasoning and answer belongs to neither.
 */
export class ReasoningSplitter {
  readonly #startsInReasoning: boolean;
  #mode: "start" | "reasoning" | "text" = "start";
  /** The text that is not returned yet. */
  #pending = "";
  /** Open blocks. */
  #depth = 0;
  /** Text behind a closing tag while a block is open: reasoning if another closing tag follows, else the answer. Null: none. */
  #uncertain: string | null = null;
  /** The last character before `#pending`. */
  #before = "";
  #hadTag = false;
  #isAssumed = false;
  #startedInReasoning = false;
  /** The answer, as long as it may turn out to begin with reasoning. */
  #plain = "";

  constructor({ startsInReasoning = false }: SplitOptions = {}) {
    this.#startsInReasoning = startsInReasoning;
  }

  /** True once a closing tag has shown that the text began inside of reasoning that no tag opened. */
  get startedInReasoning(): boolean {
    return this.#startedInReasoning;
  }

  /** Accepts more of the text and returns the segments that are certain so far. */
  push(delta: string): ReasoningSegment[] {
    this.#pending += delta;
    return this.#advance(false);
  }

  /** The text is whole, or, with `isCut`, broken off by a limit: then reasoning without an end is no answer. */
  end({ isCut = false }: { readonly isCut?: boolean } = {}): SplitEnd {
    const rest = this.#advance(true);
    if (this.#uncertain !== null) {
      const type = isCut && !this.#hadTag ? "reasoning" : "text";
      const text = type === "text" && this.#hadTag ? this.#uncertain.trimStart() : this.#uncertain;
      this.#uncertain = null;
      if (text !== "") rest.push({ type, text });
    }
    const corrected = this.#hadTag ? null : withUnopened(this.#plain);
    this.#startedInReasoning ||= corrected !== null;
    return { rest, corrected };
  }

  #advance(isOver: boolean): ReasoningSegment[] {
    const segments: ReasoningSegment[] = [];
    const add = (type: ReasoningSegment["type"], text: string): void => {
      const well = text.toWellFormed();
      if (well !== "") segments.push({ type, text: well });
    };
    // Half a character waits for its other half.
    const half = isOver ? "" : (/[\ud800-\udbff]$/.exec(this.#pending)?.[0] ?? "");
    if (half !== "") this.#pending = this.#pending.slice(0, -1);
    for (let isDone = false; !isDone;)
      isDone =
        this.#mode === "start"
          ? this.#start(isOver)
          : this.#mode === "reasoning"
            ? this.#reason(isOver, add)
            : this.#answer(add);
    this.#pending += half;
    return segments;
  }

  /** Each step returns true when it has to wait for more. */
  #start(isOver: boolean): boolean {
    const text = this.#pending.trimStart();
    const tag = TAG_HERE.exec(text);
    if (tag !== null) {
      this.#hadTag = true;
      this.#pending = text.slice(tag[0].length);
      if (isOpening(tag)) this.#enter();
      return false;
    }
    if (!isOver && (text === "" || MAY_BE_TAG.test(text))) return true;
    if (this.#startsInReasoning && !this.#hadTag && text !== "") {
      this.#enter();
      this.#uncertain = "";
      this.#isAssumed = true;
      return false;
    }
    this.#mode = "text";
    if (this.#hadTag) this.#pending = text;
    return false;
  }

  #enter(): void {
    this.#mode = "reasoning";
    this.#depth = 1;
    this.#before = "";
  }

  #reason(isOver: boolean, add: (type: "text" | "reasoning", text: string) => void): boolean {
    const take = (text: string): void => {
      this.#before = text.at(-1) ?? this.#before;
      if (this.#uncertain === null) add("reasoning", text);
      else this.#uncertain += text;
    };
    const tag = this.#nextTag();
    if (tag === null) {
      const rest = isOver ? 0 : this.#pending.length - startOfTail(this.#pending);
      const end = this.#pending.length - rest;
      take(this.#pending.slice(0, end));
      this.#pending = this.#pending.slice(end);
      return true;
    }
    this.#hadTag = true;
    take(this.#pending.slice(0, tag.index));
    this.#pending = this.#pending.slice(tag.index + tag[0].length);
    this.#before = ">";
    if (isOpening(tag)) this.#depth += 1;
    if (tag[1] !== "/") return false;
    this.#startedInReasoning ||= this.#isAssumed;
    if (this.#uncertain !== null) add("reasoning", this.#uncertain);
    this.#depth -= 1;
    this.#uncertain = this.#depth === 0 ? null : "";
    if (this.#depth === 0) this.#mode = "start";
    return false;
  }

  #answer(add: (type: "text" | "reasoning", text: string) => void): boolean {
    add("text", this.#pending);
    if (!this.#hadTag) this.#plain += this.#pending;
    this.#pending = "";
    return true;
  }

  #nextTag(): RegExpExecArray | null {
    for (const tag of this.#pending.matchAll(TAG))
      if (!QUOTES.has(this.#pending[tag.index - 1] ?? this.#before)) return tag;
    return null;
  }
}

const QUOTES: ReadonlySet<string> = new Set(["`", '"', "'"]);

/** Every part has a bound: the text may be a hostile model's. */
const PATTERN = String.raw`<\s{0,8}(\/?)\s{0,8}(?:[a-z]{1,16}:)?(?:think(?:ing)?|thought|reasoning)(?:\s[^<>]{0,200})?\s{0,8}\/?>`;
const TAG = new RegExp(PATTERN, "gi");
const TAG_HERE = new RegExp(`^${PATTERN}`, "i");
/** The beginning of a possible tag that is not complete yet. */
const MAY_BE_TAG = /^<[\s/]{0,20}(?:[a-z:]{1,32}(?:\s[^<>]{0,200})?\/?)?$/i;
const LONGEST_TAG = 280;

function isOpening([tag, slash]: RegExpExecArray): boolean {
  return slash !== "/" && !tag.endsWith("/>");
}

/** The position at which a tag may begin at the end of a text; its length when none does. */
function startOfTail(text: string): number {
  const at = text.lastIndexOf("<");
  return at >= text.length - LONGEST_TAG && at >= 0 && MAY_BE_TAG.test(text.slice(at))
    ? at
    : text.length;
}

/** A text that names more of them before the first real one is about such tags. */
const MOST_TAGS = 20;

/** The pieces of a text with a closing tag that no opening one belongs to; null when it has none. */
function withUnopened(text: string): readonly ReasoningSegment[] | null {
  for (const tag of Array.from(text.matchAll(TAG)).slice(0, MOST_TAGS)) {
    if (QUOTES.has(text[tag.index - 1] ?? "") || isInCode(text, tag.index)) continue;
    if (tag[1] !== "/") return null;
    const end = tag.index + tag[0].length;
    if (!isSeparator(text, { start: tag.index, end })) continue;
    const reasoning = text.slice(0, tag.index).trim();
    const answer = answerIn(text.slice(end).trimStart());
    return [
      ...(reasoning === "" ? [] : [{ type: "reasoning" as const, text: reasoning.toWellFormed() }]),
      ...(answer === "" ? [] : [{ type: "text" as const, text: answer }]),
    ];
  }
  return null;
}

/** A tag within a sentence has blanks or punctuation around it; one that ends reasoning begins or ends a line, or the answer follows directly. */
function isSeparator(text: string, { start, end }: { start: number; end: number }): boolean {
  const startsLine = /(?:^|\n)[ \t]*$/.test(text.slice(Math.max(0, start - 200), start));
  return (
    startsLine || /^(?:[ \t]*(?:\r?\n|$)|[^\s.,;:!?)\]}'"`…])/.test(text.slice(end, end + 200))
  );
}

/** Inside of a fenced block, or between backticks in one line. */
function isInCode(text: string, at: number): boolean {
  const before = text.slice(0, at);
  const fences = before.match(/^[ \t]{0,3}(?:```|~~~)/gm) ?? [];
  const line = before.slice(before.lastIndexOf("\n") + 1);
  return fences.length % 2 === 1 || (line.match(/`/g) ?? []).length % 2 === 1;
}

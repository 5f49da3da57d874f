import { emptyMapping, FORBIDDEN_KEYS, type YamlMapping, type YamlValue } from "./yaml-value.ts";

/**
 * Reads the simple part of YAML that nearly every skill uses, about ten times faster than the library: one-line values, lists,
 * nested mappings, JSON on one line, block text without blank lines. All values are text, as in the failsafe schema. Returns null
 * for a text that the library may read differently, mistakes included: the library then reads the text, and reports the mistakes.
 */
export function parseSimpleYaml(text: string): YamlMapping | null {
  if (UNUSUAL.test(text) || !text.endsWith("\n")) return null;
  const reader = new LineReader(text.slice(0, -1).split("\n"));
  const values = reader.mapping(0, 1);
  return values !== null && reader.isAtEnd ? values : null;
}

// Tabs, control characters, and characters that other YAML versions treat as line ends.
// oxlint-disable-next-line no-control-regex -- these are the characters that are searched for
const UNUSUAL = /[\u0000-\u0009\u000B-\u001F\u007F-\u009F\uFEFF\u2028\u2029\uFFFE\uFFFF]/;
const PAIR = /^([A-Za-z][A-Za-z0-9_-]*):(?: (.*))?$/;
const PLAIN_START = /^[\p{L}\p{Nd}]/u;
const QUOTED = /^(?:"([^"\\]*)"|'([^']*)')$/;
const BLOCK_TEXT = /^([|>])(-?)$/;
const BLANK_OR_COMMENT = /^ *(?:#.*)?$/;
const MAX_DEPTH = 16;
const MAX_KEYS = 64;

/** Reads the lines once, forwards; every method returns null where the library has to read. */
class LineReader {
  readonly #lines: readonly string[];
  #next = 0;

  constructor(lines: readonly string[]) {
    this.#lines = lines;
    this.#skipBlank();
  }

  get isAtEnd(): boolean {
    return this.#next >= this.#lines.length;
  }

  mapping(indent: number, depth: number): YamlMapping | null {
    if (depth > MAX_DEPTH) return null;
    const values = emptyMapping();
    let count = 0;
    while (this.#indent() === indent) {
      const pair = PAIR.exec(this.#line().slice(indent));
      const key = pair?.[1];
      count += 1;
      if (pair === null || key === undefined || count > MAX_KEYS) return null;
      if (key in values || FORBIDDEN_KEYS.has(key)) return null;
      this.#next += 1;
      const value = this.#value(withoutSpaces(pair[2] ?? ""), indent, depth);
      if (value === null) return null;
      values[key] = value;
      this.#skipBlank();
    }
    // A line further in has no meaning here; one further out belongs to a parent.
    return count === 0 || this.#indent() > indent ? null : values;
  }

  #value(written: string, indent: number, depth: number): YamlValue {
    if (written === "") return this.#nested(indent, depth);
    const block = BLOCK_TEXT.exec(written);
    if (block !== null) return this.#blockText(indent, block[1] === ">", block[2] === "-");
    const value = inlineValue(written);
    if (value === null) return null;
    this.#skipBlank();
    // A line further in would continue the value.
    return this.#indent() > indent ? null : value;
  }

  #nested(indent: number, depth: number): YamlValue {
    this.#skipBlank();
    const inner = this.#indent();
    if (inner < indent) return null;
    if (this.#line().startsWith("- ", inner)) return this.#sequence(inner);
    return inner > indent ? this.mapping(inner, depth + 1) : null;
  }

  #sequence(indent: number): YamlValue[] | null {
    const items: YamlValue[] = [];
    while (this.#indent() === indent && this.#line().startsWith("- ", indent)) {
      const item = inlineValue(withoutSpaces(this.#line().slice(indent + 2)));
      if (item === null) return null;
      items.push(item);
      this.#next += 1;
      this.#skipBlank();
    }
    return this.#indent() > indent ? null : items;
  }

  #blockText(indent: number, isFolded: boolean, isStripped: boolean): string | null {
    const inner = this.#indent();
    if (inner <= indent) return null;
    const lines: string[] = [];
    while (this.#indent() >= inner) {
      const line = this.#line().slice(inner);
      // Lines that are further in are folded by other rules.
      if (line.startsWith(" ") || line.trim() === "" || (isFolded && line.endsWith(" ")))
        return null;
      lines.push(line);
      this.#next += 1;
    }
    // Blank lines would be part of the text, and a line between the two depths is a mistake.
    if (!this.isAtEnd && (this.#line().trim() === "" || this.#indent() > indent)) return null;
    return lines.join(isFolded ? " " : "\n") + (isStripped ? "" : "\n");
  }

  /** Spaces before the next line's text; -1 at the end. */
  #indent(): number {
    return this.isAtEnd ? -1 : this.#line().search(/[^ ]|$/);
  }

  #line(): string {
    return this.#lines[this.#next] ?? "";
  }

  #skipBlank(): void {
    while (!this.isAtEnd && BLANK_OR_COMMENT.test(this.#line())) this.#next += 1;
  }
}

/** YAML treats, of the characters that `trim` removes, only the space as blank: a no-break space belongs to the text. */
function withoutSpaces(text: string): string {
  let start = 0;
  let end = text.length;
  while (text[start] === " ") start += 1;
  while (end > start && text[end - 1] === " ") end -= 1;
  return text.slice(start, end);
}

function inlineValue(written: string): YamlValue {
  const quoted = QUOTED.exec(written);
  if (quoted !== null) return quoted[1] ?? quoted[2] ?? "";
  if (written.startsWith("{") || written.startsWith("[")) return flowValue(written);
  return isPlain(written) ? written : null;
}

function isPlain(written: string): boolean {
  const isBroken = written.includes(": ") || written.includes(" #") || written.endsWith(":");
  return !isBroken && PLAIN_START.test(written);
}

const FLOW_TOKEN =
  / *(?:([{}[\],])|"([^"\\]*)"( *:)?|([A-Za-z0-9][A-Za-z0-9_./-]*)(?= *[,\]}])) */y;

interface FlowToken {
  readonly mark: string | undefined;
  readonly text: string | undefined;
  readonly isKey: boolean;
}

/** JSON on one line without escapes, and lists of plain words. */
function flowValue(written: string): YamlValue {
  const tokens: FlowToken[] = [];
  FLOW_TOKEN.lastIndex = 0;
  while (FLOW_TOKEN.lastIndex < written.length) {
    const [, mark, quoted, colon, plain] = FLOW_TOKEN.exec(written) ?? [];
    if (mark === undefined && quoted === undefined && plain === undefined) return null;
    tokens.push({ mark, text: quoted ?? plain, isKey: colon !== undefined });
  }
  const read = { tokens, next: 0 };
  const value = flowNode(read, 1);
  return read.next === tokens.length ? value : null;
}

function flowNode(read: { tokens: readonly FlowToken[]; next: number }, depth: number): YamlValue {
  const token = read.tokens[read.next];
  read.next += 1;
  if (token === undefined || token.isKey || depth > MAX_DEPTH) return null;
  if (token.text !== undefined) return token.text;
  if (token.mark === "[") return flowList(read, depth);
  return token.mark === "{" ? flowMapping(read, depth) : null;
}

function flowList(read: { tokens: readonly FlowToken[]; next: number }, depth: number): YamlValue {
  const items: YamlValue[] = [];
  if (isTaken(read, "]")) return items;
  do {
    const item = flowNode(read, depth + 1);
    if (item === null) return null;
    items.push(item);
  } while (isTaken(read, ","));
  return isTaken(read, "]") ? items : null;
}

function flowMapping(
  read: { tokens: readonly FlowToken[]; next: number },
  depth: number,
): YamlValue {
  const values = emptyMapping();
  if (isTaken(read, "}")) return values;
  let count = 0;
  do {
    const key = read.tokens[read.next];
    read.next += 1;
    count += 1;
    if (key?.text === undefined || !key.isKey || count > MAX_KEYS) return null;
    if (key.text in values || FORBIDDEN_KEYS.has(key.text)) return null;
    const value = flowNode(read, depth + 1);
    if (value === null) return null;
    values[key.text] = value;
  } while (isTaken(read, ","));
  return isTaken(read, "}") ? values : null;
}

function isTaken(read: { tokens: readonly FlowToken[]; next: number }, mark: string): boolean {
  if (read.tokens[read.next]?.mark !== mark) return false;
  read.next += 1;
  return true;
}

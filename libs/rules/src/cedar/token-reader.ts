import { CedarSyntaxError, unescaped, type Token } from "./cedar-tokens.ts";

export const COMPARISONS: readonly string[] = ["==", "!=", "<", "<=", ">", ">="];

/** A position in a list of tokens. */
export class TokenReader {
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  get next(): Token {
    return this.peek(0);
  }

  /** The token after so many others; the last one is an `end`. */
  peek(ahead: number): Token {
    const last = this.#tokens.length - 1;
    const token = this.#tokens[Math.min(this.#at + ahead, last)];
    return token ?? { kind: "end", text: "", line: 1 };
  }

  read(): Token {
    const token = this.next;
    this.#at += 1;
    return token;
  }

  is(text: string): boolean {
    return this.next.kind !== "string" && this.next.text === text;
  }

  /** Reads the token when it is this one. */
  accept(text: string): boolean {
    if (!this.is(text)) return false;
    this.read();
    return true;
  }

  expect(text: string): void {
    if (!this.accept(text)) throw this.unexpected(text);
  }

  name(): string {
    if (this.next.kind !== "name") throw this.unexpected("a name");
    return this.read().text;
  }

  string(): string {
    if (this.next.kind !== "string") throw this.unexpected("a text in quotes");
    const { line, text } = this.read();
    const plain = unescaped(text);
    if (plain === null)
      throw new CedarSyntaxError(line, "the text has an escape that is not of Cedar");
    return plain;
  }

  unexpected(wanted: string): CedarSyntaxError {
    const { kind, text, line } = this.next;
    const found = kind === "string" ? "a text" : text;
    return new CedarSyntaxError(line, `expected ${wanted}, got ${found}`);
  }
}

/** Reads names joined by `::`; a `::` before a text is left for the caller. */
export function parsePath(reader: TokenReader): string {
  const names = [reader.name()];
  while (reader.is("::") && reader.peek(1).kind === "name") {
    reader.read();
    names.push(reader.name());
  }
  return names.join("::");
}

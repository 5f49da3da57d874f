/** The header does not follow its grammar. */
export class MalformedHeader extends Error {
  override readonly name = "MalformedHeader";
}

/**
 * Reads a structured header from left to right: quoted strings, comments (which nest) and runs of other characters, by RFC 5322
 * §3.2. A separator inside of a quoted string or a comment is no separator. Throws MalformedHeader.
 */
export class HeaderScanner {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** True behind the last character. */
  get isDone(): boolean {
    return this.#at >= this.#text.length;
  }

  /** White space and comments. Returns true when there was any. */
  skip(): boolean {
    const start = this.#at;
    for (; !this.isDone; this.#at += 1) {
      const character = this.#text.charAt(this.#at);
      if (character === "(") this.#comment();
      else if (!/[ \t\r\n]/.test(character)) break;
    }
    return this.#at > start;
  }

  /** Takes this character if it is the next one. */
  take(character: string): boolean {
    const isNext = this.#text.charAt(this.#at) === character;
    if (isNext) this.#at += 1;
    return isNext;
  }

  /** The content of a quoted string that begins here; null when none does. */
  quoted(): string | null {
    if (!this.take('"')) return null;
    let content = "";
    for (; !this.isDone; this.#at += 1) {
      const character = this.#text.charAt(this.#at);
      if (character === '"') {
        this.#at += 1;
        return content;
      }
      if (character === "\\") this.#at += 1;
      content += this.#text.charAt(this.#at);
    }
    throw new MalformedHeader("a quoted string has no end");
  }

  /** The characters from here on that are in a set; empty when the next one is not. */
  run(set: RegExp): string {
    const start = this.#at;
    while (!this.isDone && set.test(this.#text.charAt(this.#at))) this.#at += 1;
    return this.#text.slice(start, this.#at);
  }

  /** Leaves the position at the closing bracket. */
  #comment(): void {
    let depth = 0;
    for (; !this.isDone; this.#at += 1) {
      const character = this.#text.charAt(this.#at);
      if (character === "\\") this.#at += 1;
      else if (character === "(") depth += 1;
      else if (character === ")" && (depth -= 1) === 0) return;
    }
    throw new MalformedHeader("a comment has no end");
  }
}

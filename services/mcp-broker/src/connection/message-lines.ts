/** A line grew beyond the cap before it ended. */
export class LineTooLongError extends Error {
  override readonly name = "LineTooLongError";
}

const NEWLINE = 0x0a;

/**
 * Cuts a byte stream into lines, with a cap on the length of one. A line is put together once, when
 * it ends, so a long one costs no repeated copying; the cap holds before the line is complete.
 */
export class MessageLines {
  readonly #maxBytes: number;
  #parts: Buffer[] = [];
  #length = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Takes a chunk and returns the lines that it completed. Throws LineTooLongError. */
  push(chunk: Buffer): string[] {
    const lines: string[] = [];
    let start = 0;
    let end = chunk.indexOf(NEWLINE);
    while (end !== -1) {
      this.#add(chunk.subarray(start, end));
      lines.push(this.#take());
      start = end + 1;
      end = chunk.indexOf(NEWLINE, start);
    }
    this.#add(chunk.subarray(start));
    return lines;
  }

  #add(part: Buffer): void {
    this.#length += part.length;
    if (this.#length > this.#maxBytes) {
      this.#parts = [];
      throw new LineTooLongError(`a message exceeds the limit of ${this.#maxBytes} bytes`);
    }
    if (part.length > 0) this.#parts.push(part);
  }

  #take(): string {
    const line = Buffer.concat(this.#parts, this.#length).toString("utf8");
    this.#parts = [];
    this.#length = 0;
    return line;
  }
}

/** Keeps the last bytes of a stream: enough of a child's stderr to explain why it died. */
export class TailBuffer {
  readonly #limitBytes: number;
  #chunks: Buffer[] = [];
  #length = 0;
  #written = 0;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  get isCut(): boolean {
    return this.#written > this.#limitBytes;
  }

  push(chunk: Buffer): void {
    this.#written += chunk.length;
    const kept = chunk.subarray(Math.max(0, chunk.length - this.#limitBytes));
    this.#chunks.push(kept);
    this.#length += kept.length;
    while (this.#length - (this.#chunks[0]?.length ?? 0) >= this.#limitBytes) {
      this.#length -= this.#chunks.shift()?.length ?? 0;
    }
  }

  text(): string {
    const all = Buffer.concat(this.#chunks, this.#length);
    return all.subarray(Math.max(0, all.length - this.#limitBytes)).toString("utf8");
  }
}

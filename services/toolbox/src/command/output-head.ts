import { cutBytes } from "../workspace/cut-bytes.ts";

/** The beginning of a stream. Further bytes are counted and dropped. */
export interface OutputHead {
  add(chunk: Buffer): void;
  /** The number of all received bytes. */
  readonly size: number;
  /** At most the limit in bytes, cut between two characters. */
  text(): string;
}

export function createOutputHead(limitBytes: number): OutputHead {
  const chunks: Buffer[] = [];
  let kept = 0;
  let size = 0;
  return {
    add(chunk) {
      size += chunk.length;
      // One byte more than the limit shows where the last character ends.
      const room = limitBytes + 1 - kept;
      if (room <= 0) return;
      chunks.push(chunk.subarray(0, room));
      kept += Math.min(chunk.length, room);
    },
    get size() {
      return size;
    },
    text: () => cutBytes(Buffer.concat(chunks), limitBytes).toString("utf8"),
  };
}

import type { Readable } from "node:stream";
import { StringDecoder } from "node:string_decoder";

/** A line longer than this is passed on in pieces, so that a child cannot fill our memory. */
const MAX_LINE = 1024 * 1024;

/** Calls `onLine` for each line of a stream, also for a last one without a newline. */
export function splitLines(stream: Readable, onLine: (line: string) => void): void {
  const decoder = new StringDecoder("utf8");
  let rest = "";
  stream.on("data", (chunk: Buffer) => {
    const lines = (rest + decoder.write(chunk)).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) onLine(line.replace(/\r$/, ""));
    if (rest.length > MAX_LINE) {
      onLine(rest);
      rest = "";
    }
  });
  stream.on("end", () => {
    if (rest !== "") onLine(rest);
    rest = "";
  });
}

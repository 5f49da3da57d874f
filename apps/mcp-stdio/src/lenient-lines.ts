import { Transform, type Writable } from "node:stream";
import { invalidParams, lenientMessages } from "@switchyard/contracts/mcp-broker/mcp-requests";

const NEWLINE = 10;
/** The official SDK ends the connection at a longer message, in bytes. */
const MAX_LINE = 10 * 1024 * 1024;

/**
 * The lines of a client on standard input, with requests in the form that the official SDK accepts. A request whose parameters do not fit its
 * method is not passed on, and gets its error on `output`.
 */
export function lenientLines(output: Writable): Transform {
  let parts: Buffer[] = [];
  let size = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      let from = 0;
      for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, from)) {
        const line = Buffer.concat([...parts, chunk.subarray(from, at + 1)]);
        parts = [];
        size = 0;
        from = at + 1;
        const passed = readLine(line, output);
        if (passed !== null) this.push(passed);
      }
      parts.push(chunk.subarray(from));
      size += chunk.length - from;
      if (size > MAX_LINE) {
        this.push(Buffer.concat(parts));
        parts = [];
        size = 0;
      }
      done();
    },
    flush(done) {
      this.push(Buffer.concat(parts));
      done();
    },
  });
}

/** The line to pass on; null for a request that was answered. */
function readLine(line: Buffer, output: Writable): Buffer | string | null {
  let message: unknown;
  try {
    message = JSON.parse(line.toString());
  } catch {
    return line; // The SDK reports it.
  }
  const lenient = lenientMessages(message);
  const refused = invalidParams(lenient);
  if (refused !== null) {
    output.write(`${JSON.stringify(refused)}\n`);
    return null;
  }
  return lenient === message ? line : `${JSON.stringify(lenient)}\n`;
}

import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { isRecord } from "../json/json-record.ts";

/** More than a server has to say at once is not a batch but an attempt. */
const MAX_BATCH = 1_000;

/**
 * The lines with each batch in its parts: 2025-03-26 lets a server write several messages as one array
 * (https://modelcontextprotocol.io/specification/2025-03-26/basic#batching). What is not a batch of objects stays a line.
 */
export function unbatched(lines: readonly string[]): readonly string[] {
  if (!lines.some(mayBeBatch)) return lines;
  return lines.flatMap((line) => (mayBeBatch(line) ? partsOf(line) : [line]));
}

/** The SDK's protocol layer tells requests, answers and notifications apart with its own guards. */
export function parseMessage(line: string): JSONRPCMessage | null {
  const text = line.startsWith("{") ? line : line.trimStart(); // a byte order mark is white space, too
  if (!text.startsWith("{")) return null;
  try {
    const value: unknown = JSON.parse(text);
    const isMessage = isRecord(value) && value["jsonrpc"] === "2.0";
    return isMessage ? (value as unknown as JSONRPCMessage) : null; // the protocol layer looks at the rest
  } catch {
    return null;
  }
}

function mayBeBatch(line: string): boolean {
  return line.startsWith("[");
}

function partsOf(line: string): readonly string[] {
  try {
    const parts: unknown = JSON.parse(line);
    const isBatch =
      Array.isArray(parts) && parts.length <= MAX_BATCH && parts.every((part) => isRecord(part));
    return isBatch ? parts.map((part) => JSON.stringify(part)) : [line];
  } catch {
    return [line]; // no JSON, or nested deeper than it can be written
  }
}

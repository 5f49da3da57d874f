import { isRecord } from "@switchyard/contracts/json-record";
import { parseJson } from "../json/json-value.ts";

/** More than a server has to send at once is not a batch but an attack. */
const MAX_BATCH = 1_000;

/** The JSON values of one line, event or body, or the reason in words why it has none. */
export type MessageText =
  | { readonly values: readonly unknown[]; readonly findings: readonly string[] }
  /** `readable` is what it is without the tokens that JSON does not have: it names the request. */
  | { readonly problem: string; readonly readable: unknown };

/**
 * Reads what a server wrote. 2025-03-26 allows several messages as one array
 * (https://modelcontextprotocol.io/specification/2025-03-26/basic#batching). Null for a text that is no message, such as a line of a log.
 */
export function readMessageText(raw: string): MessageText | null {
  const text = raw.trim(); // a byte order mark is white space, too
  if (!text.startsWith("{") && !text.startsWith("[")) return null;
  const findings: string[] = [];
  const value = LONG_INTEGER.test(text) ? parseWithIntegers(text, findings) : parseJson(text);
  if (isRecord(value)) return { values: [value], findings };
  if (Array.isArray(value)) {
    const isBatch = value.length <= MAX_BATCH && value.every((part) => isRecord(part));
    return isBatch ? { values: value, findings } : null;
  }
  return NOT_A_NUMBER.test(text) ? withoutNumbers(text) : null;
}

/** An integer of sixteen digits is the shortest that may be rounded. Texts with such a run of digits only cost time. */
const LONG_INTEGER = /[[:,\s]-?\d{16}/;

/**
 * An integer that a JavaScript number cannot hold becomes the text of its digits: rounded, it would name another object
 * (docs/reference/mcp.md#what-servers-and-clients-may-send).
 */
function parseWithIntegers(text: string, findings: string[]): unknown {
  let count = 0;
  try {
    const value: unknown = JSON.parse(
      text,
      (_key, member: unknown, context?: { source?: string }) => {
        const source = context?.source ?? "";
        if (typeof member !== "number" || !INTEGER.test(source) || String(member) === source)
          return member;
        count += 1;
        return source;
      },
    );
    if (count > 0) findings.push(`${count} integers beyond 2^53 are passed on as text`);
    return value;
  } catch (error) {
    // The reviver works recursively, and the parser does not.
    return error instanceof RangeError ? parseJson(text) : null;
  }
}

const INTEGER = /^-?\d{16,}$/;

const NOT_A_NUMBER = /NaN|Infinity/;

/** Python's `json` writes `NaN` and `Infinity`, which are no JSON: https://docs.python.org/3/library/json.html#infinite-and-nan-number-values */
function withoutNumbers(text: string): MessageText | null {
  const repaired = text.replaceAll(/"(?:[^"\\]|\\.)*"|-?\b(?:NaN|Infinity)\b/g, (token) =>
    token.startsWith('"') ? token : "null",
  );
  const readable = parseJson(repaired);
  if (readable === null) return null;
  return { problem: "it is not JSON: it has NaN or Infinity, which JSON does not have", readable };
}

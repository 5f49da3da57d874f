import { isUtf8 } from "node:buffer";
import { errorFinding, warningFinding, type Finding } from "../finding.ts";

/** The limit that other clients use, too; 99.9 % of the public skills are below 76 KB. */
export const MAX_FILE_BYTES = 256 * 1024;

const DECODER = new TextDecoder();

export type DecodedText =
  | {
      readonly text: string;
      /** Set when the bytes are not valid for every client, and were read all the same. */
      readonly note?: Finding;
    }
  | { readonly problem: Finding };

/**
 * Decodes a file in any encoding that the file declares, and a damaged one with U+FFFD for invalid UTF-8; then there is a note. A
 * file that is not text at all is still a problem.
 */
export function decodeLeniently(bytes: Uint8Array): DecodedText {
  const strict = decodeText(bytes);
  if ("text" in strict || strict.problem.code !== "not_utf8") return strict;
  const { line, column } = strict.problem;
  const encoding = isUtf16(bytes) ? (bytes[0] === 0xff ? "utf-16le" : "utf-16be") : "utf-8";
  const text = new TextDecoder(encoding).decode(bytes);
  if (text.includes("\0")) return strict;
  const message =
    encoding === "utf-8"
      ? "this line is not valid UTF-8; what could not be read became U+FFFD; save the file as UTF-8"
      : "the file is UTF-16 and was read as that; save it as UTF-8";
  const at = line === null || column === null ? null : { line, column };
  const note = warningFinding("repaired_encoding", message, at);
  return { text: withLineEnds(text), note };
}

/** The text of a file: strict UTF-8, without a byte order mark, with `\n` line ends; also of one that has only `\r`. */
export function decodeText(bytes: Uint8Array): DecodedText {
  if (bytes.length > MAX_FILE_BYTES) return { problem: fileTooLarge(bytes.length) };
  if (isUtf16(bytes)) {
    return { problem: errorFinding("not_utf8", "the file is UTF-16; save it as UTF-8") };
  }
  if (!isUtf8(bytes)) {
    const message = "this line is not valid UTF-8; save the file as UTF-8";
    const at = { line: firstBadLine(bytes), column: 1 };
    return { problem: errorFinding("not_utf8", message, at) };
  }
  if (bytes.includes(0)) {
    return { problem: errorFinding("binary_file", "the file has a NUL byte, so it is not text") };
  }
  const text = DECODER.decode(bytes);
  if (!text.includes("\r")) return { text };
  return text.includes("\n") ? { text: withLineEnds(text) } : ofOldMac(text);
}

function withLineEnds(text: string): string {
  return text.replaceAll("\r\n", "\n");
}

/** A text without a line feed uses carriage returns as line ends. */
function ofOldMac(text: string): DecodedText {
  const message = "its lines end in carriage returns alone; save it with line feeds";
  return {
    text: text.replaceAll("\r", "\n"),
    note: warningFinding("repaired_line_ends", message, { line: 1, column: 1 }),
  };
}

export function fileTooLarge(sizeBytes: number): Finding {
  return errorFinding(
    "file_too_large",
    `the file has ${sizeBytes} bytes, the limit is ${MAX_FILE_BYTES}; move reference material into files beside it`,
  );
}

function isUtf16(bytes: Uint8Array): boolean {
  const mark = ((bytes[0] ?? 0) << 8) | (bytes[1] ?? 0);
  return mark === 0xff_fe || mark === 0xfe_ff;
}

function firstBadLine(bytes: Uint8Array): number {
  let line = 1;
  let start = 0;
  while (start < bytes.length) {
    const end = bytes.indexOf(0x0a, start);
    const stop = end < 0 ? bytes.length : end + 1;
    if (!isUtf8(bytes.subarray(start, stop))) return line;
    line += 1;
    start = stop;
  }
  return line;
}

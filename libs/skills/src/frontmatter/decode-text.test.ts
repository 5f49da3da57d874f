import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeText, MAX_FILE_BYTES } from "./decode-text.ts";

function problemOf(bytes: Uint8Array) {
  const decoded = decodeText(bytes);
  assert("problem" in decoded);
  return decoded.problem;
}

test("drops a byte order mark and turns CRLF into LF", () => {
  assert.deepEqual(decodeText(Buffer.from("\uFEFF---\r\nname: é\r\n---\r\n")), {
    text: "---\nname: é\n---\n",
  });
});

test("names the line that is not UTF-8", () => {
  const bytes = Buffer.concat([
    Buffer.from("one\ntwo é\nthr"),
    Buffer.from([0xff]),
    Buffer.from("ee"),
  ]);
  const { code, line } = problemOf(bytes);
  assert.deepEqual({ code, line }, { code: "not_utf8", line: 3 });
});

test("finds a character that is cut off at the end of the file", () => {
  assert.equal(problemOf(Buffer.from([0x61, 0x0a, 0xc3])).line, 2);
});

test("recognises UTF-16 of both byte orders", () => {
  assert.match(problemOf(Buffer.from("\uFEFFname", "utf16le")).message, /UTF-16/);
  assert.match(problemOf(Buffer.from([0xfe, 0xff, 0x00, 0x61])).message, /UTF-16/);
});

test("refuses a NUL byte and a file above 256 KiB", () => {
  assert.equal(problemOf(Buffer.from("a\0b")).code, "binary_file");
  assert.equal(problemOf(Buffer.alloc(MAX_FILE_BYTES + 1, 0x61)).code, "file_too_large");
  assert("text" in decodeText(Buffer.alloc(MAX_FILE_BYTES, 0x61)));
});

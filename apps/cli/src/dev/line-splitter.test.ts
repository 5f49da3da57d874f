import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { test } from "node:test";
import fc from "fast-check";
import { splitLines } from "./line-splitter.ts";

async function linesOf(chunks: readonly Uint8Array[]): Promise<string[]> {
  const stream = Readable.from(chunks);
  const lines: string[] = [];
  splitLines(stream, (line) => lines.push(line));
  await new Promise((done) => stream.once("end", done));
  return lines;
}

test("the last line counts also without a newline, and CRLF ends a line", async () => {
  assert.deepEqual(await linesOf([Buffer.from("a\r\nb\n\nc")]), ["a", "b", "", "c"]);
});

test("the lines are the same however the bytes are cut, also in the middle of a character", async () => {
  const text = "grün\n→ €\nend";
  const bytes = Buffer.from(text);
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(fc.nat(bytes.length)), async (cuts) => {
      const edges = [0, ...cuts.toSorted((a, b) => a - b), bytes.length];
      const chunks = edges.slice(1).map((end, index) => bytes.subarray(edges[index], end));
      assert.deepEqual(await linesOf(chunks.filter((chunk) => chunk.length > 0)), text.split("\n"));
    }),
  );
});

test("a line without end is passed on in pieces instead of being kept", async () => {
  const chunk = Buffer.alloc(700_000, "x");
  const lines = await linesOf([chunk, chunk, chunk]);
  assert.deepEqual(
    lines.map((line) => line.length),
    [1_400_000, 700_000],
  );
});

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { startedEntry } from "../../test-fixtures/journals.ts";
import { BLOB_BYTES, blobsOf, decodeEntry, encodeEntry } from "./entry-codec.ts";
import { JournalCorrupt } from "./run-state.ts";

const sha = "0".repeat(64);

test("stores long strings beside the journal, each content once", () => {
  const long = "ä".repeat(BLOB_BYTES);
  const entry = startedEntry({ instructions: long, prompt: long });
  const { json, blobs } = encodeEntry(entry);
  assert.ok(json.length < 2_000);
  assert.equal(blobs.size, 1);
  assert.deepEqual(blobsOf([json]), [...blobs.keys()]);
  assert.deepEqual(decodeEntry(json, blobs), entry);
});

test("restores every string, also one that looks like a reference", () => {
  const hostile = fc.constantFrom(
    `\0blob:${sha}`,
    "\0",
    "\0\0",
    `\0\0blob:${sha}`,
    `"\\u0000blob:${sha}"`,
  );
  fc.assert(
    fc.property(fc.oneof(hostile, fc.string({ unit: "binary" })), fc.string(), (prompt, label) => {
      const entry = startedEntry({ prompt, input: { prompt, label }, labels: { label } });
      const { json, blobs } = encodeEntry(entry);
      assert.equal(blobs.size, 0);
      assert.deepEqual(decodeEntry(json, blobs), entry);
    }),
  );
});

test("reports a missing blob and an entry of another shape", () => {
  const { json } = encodeEntry(startedEntry({ prompt: "x".repeat(BLOB_BYTES + 1) }));
  assert.throws(() => decodeEntry(json, new Map()), JournalCorrupt);
  assert.throws(() => decodeEntry('{"kind":"exploded"}', new Map()), JournalCorrupt);
});

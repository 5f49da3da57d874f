import { createHash } from "node:crypto";
import { wellFormedJson } from "@switchyard/contracts/well-formed";
import { JournalEntry } from "./journal-entry.ts";
import { JournalCorrupt } from "./run-state.ts";

/** A stored entry: JSON in which long strings are replaced by references to `blobs`. */
export interface EncodedEntry {
  readonly json: string;
  /** Content by hexadecimal SHA-256. */
  readonly blobs: ReadonlyMap<string, string>;
}

/** Strings above this size are stored beside the journal, once for each content. */
export const BLOB_BYTES = 32 * 1_024;

/**
 * A reference is a string that starts with NUL. A string of the run that happens to start with NUL
 * gets a second one, so no tool or model can write something that is read as a reference.
 */
const REFERENCE = "\0blob:";
const ESCAPE = "\0";

export function encodeEntry(entry: JournalEntry): EncodedEntry {
  const blobs = new Map<string, string>();
  const json = JSON.stringify(entry, (_key, item: unknown) => {
    if (typeof item !== "string") return item;
    const value = item.toWellFormed();
    if (value.length * 3 > BLOB_BYTES && Buffer.byteLength(value) > BLOB_BYTES) {
      const sha = createHash("sha256").update(value).digest("hex");
      blobs.set(sha, value);
      return REFERENCE + sha;
    }
    return value.startsWith(ESCAPE) ? ESCAPE + value : value;
  });
  return { json, blobs };
}

/** The digests that stored entries refer to, each once. */
export function blobsOf(stored: readonly string[]): string[] {
  const found = new Set<string>();
  for (const json of stored) {
    for (const [, sha] of json.matchAll(/"\\u0000blob:([0-9a-f]{64})"/g)) {
      if (sha !== undefined) found.add(sha);
    }
  }
  return [...found];
}

/** Reads a stored entry back. Throws JournalCorrupt when a blob is missing or the entry has another shape. */
export function decodeEntry(json: string, blobs: ReadonlyMap<string, string>): JournalEntry {
  const parsed = JournalEntry.safeParse(valueOf(json, blobs));
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`);
  throw new JournalCorrupt(`a journal entry does not fit its schema: ${problems.join("; ")}`);
}

function valueOf(json: string, blobs: ReadonlyMap<string, string>): unknown {
  try {
    // Entries of before may have half a character, which providers would refuse with each request.
    return JSON.parse(wellFormedJson(json), (_key, item: unknown) => {
      if (typeof item !== "string" || !item.startsWith(ESCAPE)) return item;
      if (!item.startsWith(REFERENCE)) return item.slice(ESCAPE.length);
      const text = blobs.get(item.slice(REFERENCE.length));
      if (text === undefined)
        throw new JournalCorrupt(`blob ${item.slice(REFERENCE.length)} is gone`);
      return text;
    });
  } catch (cause) {
    if (cause instanceof JournalCorrupt) throw cause;
    throw new JournalCorrupt("a journal entry is not valid JSON", { cause });
  }
}

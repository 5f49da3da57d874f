import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const DIRECTORY = join(import.meta.dirname, "golden");

/**
 * Compares a text with the file of that name in `golden/`, whole. Values that differ between machines are replaced by a word:
 * digests, and each of the `places`. With UPDATE_GOLDEN=1 the file is written instead; review the change before it is committed.
 */
export function assertGolden(
  name: string,
  text: string,
  places: Readonly<Record<string, string>> = {},
): void {
  let actual = text.replaceAll(/sha256:[0-9a-f]{12,64}/g, "sha256:DIGEST");
  for (const [place, word] of Object.entries(places)) actual = actual.replaceAll(place, word);
  const file = join(DIRECTORY, name);
  if (process.env["UPDATE_GOLDEN"] === "1") {
    mkdirSync(DIRECTORY, { recursive: true });
    writeFileSync(file, actual);
  }
  assert.equal(actual, readFileSync(file, "utf8"), `${name} is other than it was`);
}

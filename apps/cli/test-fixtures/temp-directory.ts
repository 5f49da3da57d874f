import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";

/** An empty directory that is removed when the test ends. */
export function tempDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "yard-cli-"));
  after(() => rmSync(directory, { recursive: true, force: true, maxRetries: 5 }));
  return directory;
}

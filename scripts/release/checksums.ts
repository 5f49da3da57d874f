import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** The digest of a file, in hexadecimal digits. */
export async function sha256Of(path: string): Promise<string> {
  return createHash("sha256")
    .update(await readFile(path))
    .digest("hex");
}

/** Writes the digests of files of a folder as `sha256sum --check` reads them, and returns the name of that file. */
export async function writeChecksums(folder: string, files: readonly string[]): Promise<string> {
  const lines = files.map(async (file) => `${await sha256Of(join(folder, file))}  ${file}\n`);
  const name = "SHA256SUMS";
  await writeFile(join(folder, name), (await Promise.all(lines)).join(""));
  return name;
}

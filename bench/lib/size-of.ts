import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";

/** The bytes of all files below a directory. */
export async function sizeOf(directory: string): Promise<number> {
  let bytes = 0;
  for (const file of await readdir(directory, { recursive: true })) {
    const entry = await stat(join(directory, file)).catch(() => null); // a block may be gone
    if (entry?.isFile() === true) bytes += entry.size;
  }
  return bytes;
}

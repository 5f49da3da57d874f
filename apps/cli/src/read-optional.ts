import { readFile } from "node:fs/promises";

/** The text of a file; null when there is none [D30]. Any other failure is thrown, such as a file that may not be read. */
export async function readOptional(file: string): Promise<string | null> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
    throw error;
  }
}

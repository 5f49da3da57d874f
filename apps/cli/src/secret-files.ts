import { chmod, readFile, rename, writeFile } from "node:fs/promises";

/** Writes a file that only its owner may read, complete or not at all. */
export async function writeSecret(file: string, content: string): Promise<void> {
  const draft = `${file}.${process.pid}`;
  await writeFile(draft, content.endsWith("\n") ? content : `${content}\n`, { mode: 0o600 });
  await rename(draft, file);
}

/** The content of a secret file, closed again if it was opened to others; null when there is none. */
export async function readSecret(file: string): Promise<string | null> {
  try {
    const content = await readFile(file, "utf8");
    await chmod(file, 0o600);
    return content.trim();
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
    throw error;
  }
}

import { chmod, chown, rename, stat, writeFile } from "node:fs/promises";
import { readOptional } from "./read-optional.ts";

/** Writes a file that only its owner may read, complete or not at all. */
export async function writeSecret(file: string, content: string): Promise<void> {
  const draft = `${file}.${process.pid}`;
  await writeFile(draft, content.endsWith("\n") ? content : `${content}\n`, { mode: 0o600 });
  await rename(draft, file);
}

/**
 * Writes a file that another user's process reads, complete or not at all: it keeps the owner, group and mode of the one before,
 * such as those of the server that loads it. Without one before, only its owner may read it.
 */
export async function replaceFile(file: string, content: string): Promise<void> {
  const before = await stat(file).catch(() => null);
  const draft = `${file}.${process.pid}`;
  await writeFile(draft, content.endsWith("\n") ? content : `${content}\n`, { mode: 0o600 });
  if (before !== null) {
    const { uid, gid, mode } = before;
    const own = await stat(draft);
    if (own.uid !== uid || own.gid !== gid) await chown(draft, uid, gid);
    await chmod(draft, mode & 0o777);
  }
  await rename(draft, file);
}

/** The content of a secret file, closed again if it was opened to others; null when there is none. */
export async function readSecret(file: string): Promise<string | null> {
  const content = await readOptional(file);
  if (content === null) return null;
  await chmod(file, 0o600);
  return content.trim();
}

import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";

const FILE = "session.json";

/** The CLI's own id of the session of a run; null when none was begun, or its note cannot be read. */
export async function readSession(directory: string): Promise<string | null> {
  try {
    const { id } = JSON.parse(await readFile(join(directory, FILE), "utf8")) as { id?: unknown };
    return typeof id === "string" ? id : null;
  } catch {
    return null; // a new session is begun, with the whole conversation
  }
}

/** Stores the session's id for the next host of the run on this machine. */
export async function keepSession(directory: string, id: string): Promise<void> {
  const path = join(directory, FILE);
  await writeFile(`${path}.new`, JSON.stringify({ id }), { mode: 0o600 });
  await rename(`${path}.new`, path);
}

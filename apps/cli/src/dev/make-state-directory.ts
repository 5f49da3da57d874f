import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { CliError } from "../cli-error.ts";

/** Settings, skills and agents of a project lie in the same folder and belong into Git. */
const IGNORED = "/.gitignore\n/data/\n/dev.json*\n/keys/\n/logs/\n/operator.nk\n/ports.json*\n";

/** Makes the directory of a project's state, closed to other users and ignored by Git. Throws `start_failed` where it cannot be written. */
export async function makeStateDirectory(path: string): Promise<void> {
  try {
    await mkdir(path, { recursive: true, mode: 0o700 });
    await writeFile(join(path, ".gitignore"), IGNORED);
  } catch (cause) {
    throw new CliError("start_failed", `the state directory ${path} cannot be written`, {
      hint: "make it writable, or name another with YARD_STATE_DIR",
      cause,
    });
  }
}

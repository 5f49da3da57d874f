import { readFile, stat } from "node:fs/promises";
import type { z } from "zod";
import type { Log } from "./log.ts";
import { StartError } from "./start-error.ts";

/** Returns the settings of this moment. */
export type CurrentSettings<T> = () => Promise<T>;

const LOOK_AGAIN_MS = 500;

/**
 * Reads a small JSON file of settings, and again when it has changed: a call checks the file at most every 500 ms. Rejects with a
 * StartError when the file cannot be used; a change that cannot be used is logged, and the previous settings stay in force.
 */
export async function openSettingsFile<Schema extends z.ZodType>(
  path: string,
  schema: Schema,
  options: {
    /** The name of the content in the log: `team limits`. */
    readonly name: string;
    /** The remedy for a file that cannot be used. */
    readonly hint: string;
    /** Used in place of a missing file; without it a missing file cannot be used. */
    readonly missing?: unknown;
    readonly log: Log;
    /** Milliseconds of any clock. */
    readonly now: () => number;
  },
): Promise<CurrentSettings<z.output<Schema>>> {
  const { name, hint, missing, log, now } = options;
  let version = await versionOf(path);
  let settings = await read();
  let lookedAt = now();
  return async () => {
    if (now() - lookedAt < LOOK_AGAIN_MS) return settings;
    lookedAt = now();
    const current = await versionOf(path);
    if (current === version) return settings;
    version = current;
    try {
      settings = await read();
      log.info({ path }, `${name} read again`);
    } catch (err) {
      log.warn({ path, err }, `${name} not read again`);
    }
    return settings;
  };

  async function read(): Promise<z.output<Schema>> {
    const parsed = schema.safeParse(await readJson());
    if (parsed.success) return parsed.data;
    const problems = parsed.error.issues.map(
      ({ path: where, message }) => `${where.join(".") || "(top)"}: ${message}`,
    );
    throw new StartError(`${path} has errors: ${problems.join("; ")}`, { hint });
  }

  async function readJson(): Promise<unknown> {
    try {
      return JSON.parse(await readFile(path, "utf8"));
    } catch (cause) {
      const isMissing = (cause as NodeJS.ErrnoException).code === "ENOENT"; // any thrown value can be checked
      if (isMissing && missing !== undefined) return missing;
      throw new StartError(`${path} cannot be read: ${String(cause)}`, { hint, cause });
    }
  }
}

/** A file that is replaced by a link, as Kubernetes does, changes at least one of these. */
async function versionOf(path: string): Promise<string> {
  try {
    const { ino, size, mtimeMs } = await stat(path);
    return `${ino}:${size}:${mtimeMs}`;
  } catch {
    return "missing";
  }
}

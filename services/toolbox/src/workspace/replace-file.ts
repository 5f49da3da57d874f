import { randomBytes } from "node:crypto";
import { constants, type BigIntStats } from "node:fs";
import { lstat, open, rename, unlink } from "node:fs/promises";
import { systemErrorCode, ToolError } from "../tool-error.ts";
import { explained, holdDirectory, type HeldDirectory } from "./open-path.ts";
import type { WorkspacePath } from "./workspace.ts";

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;
const NEW_FILE_MODE = 0o644;
const PERMISSIONS = 0o777;

/**
 * Replaces a file atomically: a reader sees the old bytes or the new ones, and a name that became a symbolic link is replaced
 * instead of followed. Keeps the permissions of the old file; creates missing directories. With `read`, it throws a ToolError
 * when the file has changed since. Resolves to whether the file is new.
 */
export async function replaceFile(
  target: WorkspacePath,
  bytes: Uint8Array,
  { read }: { read?: BigIntStats } = {},
): Promise<{ isNew: boolean }> {
  const name = target.names.at(-1);
  if (name === undefined) throw new ToolError(`'${target.requested}' is a directory.`);
  const directory = await holdDirectory(target, target.names.slice(0, -1), { create: true });
  try {
    const stats = await statsOfExisting(directory.path(name), target.requested);
    if (read !== undefined && !isSame(read, stats))
      throw new ToolError(
        `'${target.requested}' was changed by another writer at the same moment; nothing was done. Read it again.`,
      );
    const mode = stats?.isFile() === true ? Number(stats.mode) & PERMISSIONS : null;
    await writeBeside({ directory, name, bytes, mode: mode ?? NEW_FILE_MODE });
    return { isNew: mode === null };
  } catch (error) {
    throw explained(error, target.requested);
  } finally {
    await directory.close();
  }
}

async function statsOfExisting(path: string, requested: string): Promise<BigIntStats | null> {
  try {
    const stats = await lstat(path, { bigint: true });
    if (stats.isDirectory())
      throw new ToolError(`'${requested}' is a directory; name a file in it.`);
    if (!stats.isFile() && !stats.isSymbolicLink())
      throw new ToolError(`'${requested}' is not a regular file.`);
    return stats;
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT") return null;
    throw error;
  }
}

function isSame(before: BigIntStats, now: BigIntStats | null): boolean {
  return now !== null && now.ino === before.ino && now.mtimeNs === before.mtimeNs;
}

async function writeBeside({
  directory,
  name,
  bytes,
  mode,
}: {
  directory: HeldDirectory;
  name: string;
  bytes: Uint8Array;
  mode: number;
}): Promise<void> {
  const temporary = directory.path(`.${randomBytes(9).toString("base64url")}.tmp`);
  const file = await open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
  try {
    try {
      await file.writeFile(bytes);
      // The umask reduces the mode given to open(2).
      await file.chmod(mode);
    } finally {
      await file.close();
    }
    await rename(temporary, directory.path(name));
  } catch (error) {
    await unlink(temporary).catch(() => undefined);
    throw error;
  }
}

import { constants } from "node:fs";
import { mkdir, open, type FileHandle } from "node:fs/promises";
import { join, sep } from "node:path";
import { systemErrorCode, ToolError } from "../tool-error.ts";
import type { WorkspacePath } from "./workspace.ts";

const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
/** open(2): only a position in the tree, for directories that may be entered and not listed. Node has no name for it. */
const O_PATH = 0o10000000;

/** A directory that stays the same one whatever happens to its name. */
export interface HeldDirectory {
  /** A path that leads to the held directory itself, and to the name in it. */
  path(name?: string): string;
  close(): Promise<void>;
}

/**
 * Opens the directory of a path, step by step and never through a symbolic link: the links were resolved when the path was
 * checked, so a link found here was inserted since, and the call fails. The open directory itself is used, so it cannot be
 * exchanged between its check and its use. With `create`, missing directories are created.
 */
export async function holdDirectory(
  { base, requested }: WorkspacePath,
  names: readonly string[],
  { create = false } = {},
): Promise<HeldDirectory> {
  let held = await openDirectory(base, requested);
  let directory = base;
  for (const name of names) {
    const at = entry(held, directory, name);
    try {
      if (create) await mkdir(at).catch(ignoreExisting);
      const next = await openDirectory(at, requested);
      await held.close();
      held = next;
      directory = join(directory, name);
    } catch (error) {
      await held.close();
      throw explained(error, requested);
    }
  }
  return {
    path: (name) => (name === undefined ? selfPath(held, directory) : entry(held, directory, name)),
    close: () => held.close(),
  };
}

/**
 * Opens the regular file of a path to read it. Throws ToolError for every other kind of file; opening a pipe or a device is
 * abandoned before it blocks.
 */
export async function openForReading(target: WorkspacePath): Promise<FileHandle> {
  const name = target.names.at(-1);
  if (name === undefined)
    throw new ToolError(`'${target.requested}' is a directory; use list_files.`);
  const directory = await holdDirectory(target, target.names.slice(0, -1));
  try {
    const file = await open(directory.path(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    try {
      const stats = await file.stat();
      if (stats.isDirectory())
        throw new ToolError(`'${target.requested}' is a directory; use list_files.`);
      if (!stats.isFile()) throw new ToolError(`'${target.requested}' is not a regular file.`);
      return file;
    } catch (error) {
      await file.close();
      throw error;
    }
  } catch (error) {
    throw explained(error, target.requested);
  } finally {
    await directory.close();
  }
}

/** The ToolError that a system error on a path of the caller's is; any other error as it is. */
export function explained(error: unknown, requested: string): unknown {
  switch (systemErrorCode(error)) {
    case "ENOENT":
      return new ToolError(`'${requested}' does not exist; list_files shows what does.`);
    case "ENOTDIR":
      return new ToolError(`'${requested}' is not a directory, or goes through a file.`);
    case "ELOOP":
      return new ToolError(
        `'${requested}' became a symbolic link while it was opened; nothing was done.`,
      );
    case "EACCES":
    case "EPERM":
      return new ToolError(`'${requested}' may not be opened by this service.`);
    case "ENAMETOOLONG":
      return new ToolError(`'${requested}' has a name that is too long.`);
    case "EISDIR":
      return new ToolError(`'${requested}' is a directory.`);
    case "ENOSPC":
    case "EDQUOT":
      return new ToolError(`No space is left for '${requested}'.`);
    case "EROFS":
      return new ToolError(`'${requested}' is on a file system that cannot be written.`);
    default:
      return error;
  }
}

async function openDirectory(path: string, requested: string): Promise<FileHandle> {
  const flags = process.platform === "linux" ? O_PATH : O_RDONLY;
  try {
    return await open(path, flags | O_DIRECTORY | O_NOFOLLOW);
  } catch (error) {
    throw explained(error, requested);
  }
}

/**
 * A name in an open directory. Linux leads through the open directory itself; elsewhere there is
 * only the path, and a directory that is exchanged between two steps can mislead a call.
 */
function entry(held: FileHandle, directory: string, name: string): string {
  return join(selfPath(held, directory), name);
}

function selfPath(held: FileHandle, directory: string): string {
  return process.platform === "linux" ? `${sep}proc/self/fd/${held.fd}` : directory;
}

function ignoreExisting(error: unknown): void {
  if (systemErrorCode(error) !== "EEXIST") throw error;
}

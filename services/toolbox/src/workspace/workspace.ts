import { realpath, stat } from "node:fs/promises";
import { isAbsolute, relative, resolve, sep } from "node:path";
import { systemErrorCode, ToolError } from "../tool-error.ts";

/** How far the built-in tools reach: inside the workspace only, or wherever the process may [E12]. */
export type SecurityMode = "limited-control" | "full-control";

export interface Workspace {
  /** Real path of the directory: no part of it is a symbolic link. */
  readonly root: string;
  readonly mode: SecurityMode;
}

/** A place in the file system that a tool may touch: its real path, below a directory to start from. */
export interface Place {
  /** The real directory that the walk to the file begins at: the workspace, or `/`. */
  readonly base: string;
  /** Names from the base to the file; none of them is `.` or `..`. Empty for the base itself. */
  readonly names: readonly string[];
  /** What the caller called it; for messages. */
  readonly asked: string;
}

const MAX_PATH_BYTES = 4_096;

/** Throws ToolError when the directory does not exist, or is none. */
export async function openWorkspace(directory: string, mode: SecurityMode): Promise<Workspace> {
  const root = await realpath(directory).catch(() => null);
  if (root === null || !(await stat(root)).isDirectory())
    throw new ToolError(`The workspace ${directory} is not a directory; create it first.`);
  return { root, mode };
}

/**
 * Says where a path leads. Symbolic links are followed here and nowhere later: for a file that does
 * not exist yet, those of its nearest existing parent [ER4]. In limited-control the real path has to lie in
 * the workspace. Relative paths begin at the workspace.
 */
export async function placeOf(workspace: Workspace, asked: string): Promise<Place> {
  checkText(asked);
  const real = await realPathOf(resolve(workspace.root, asked), asked);
  const base = workspace.mode === "limited-control" ? workspace.root : sep;
  const inside = relative(base, real);
  if (inside.split(sep)[0] === ".." || isAbsolute(inside))
    throw new ToolError(
      `Path '${asked}' is outside the allowed workspace '${workspace.root}'; use a path inside it.`,
    );
  return { base, names: inside === "" ? [] : inside.split(sep), asked };
}

/** The path of a place, for a message or a command's working directory. */
export function pathOf({ base, names }: Place): string {
  return resolve(base, ...names);
}

function checkText(asked: string): void {
  if (asked === "") throw new ToolError("The path is empty; use '.' for the workspace itself.");
  if (asked.includes("\0")) throw new ToolError("The path has a zero byte in it.");
  if (Buffer.byteLength(asked) > MAX_PATH_BYTES)
    throw new ToolError(`The path is longer than ${MAX_PATH_BYTES} bytes.`);
}

/** The real path of the nearest part that exists, with the rest as it was written. */
async function realPathOf(path: string, asked: string): Promise<string> {
  const missing: string[] = [];
  for (let existing = path; ; existing = resolve(existing, "..")) {
    try {
      return resolve(await realpath(existing), ...missing);
    } catch (error) {
      const code = systemErrorCode(error);
      if (code === "ELOOP")
        throw new ToolError(`Path '${asked}' is a circle of symbolic links.`, { cause: error });
      if (code === "EACCES")
        throw new ToolError(`Path '${asked}' may not be read by this service.`, { cause: error });
      if (code === "ENAMETOOLONG")
        throw new ToolError(`Path '${asked}' has a name that is too long.`, { cause: error });
      if (code === "ENOTDIR")
        throw new ToolError(`Path '${asked}' goes through a file.`, { cause: error });
      if (code !== "ENOENT") throw error;
      missing.unshift(existing.slice(existing.lastIndexOf(sep) + 1));
    }
  }
}

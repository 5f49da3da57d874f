import { readlink, realpath, stat } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { systemErrorCode, ToolError } from "../tool-error.ts";

/** The reach of the built-in tools: inside the workspace only, or wherever the process may [E12]. */
export type SecurityMode = "limited-control" | "full-control";

export interface Workspace {
  /** Real path of the directory: no part of it is a symbolic link. */
  readonly root: string;
  readonly mode: SecurityMode;
  /** The size limit; absent for a workspace without one. */
  readonly limitBytes?: number | undefined;
  /** Real paths that no tool opens, in either mode: keys and data of the installation. */
  readonly hidden: readonly string[];
}

/** A path that a tool may use: resolved, below a directory to start from. */
export interface WorkspacePath {
  /** The real directory that the walk to the file begins at: the workspace, or `/`. */
  readonly base: string;
  /** Names from the base to the file; none of them is `.` or `..`. Empty for the base itself. */
  readonly names: readonly string[];
  /** The caller's name for it; for messages. */
  readonly requested: string;
  /** Those of the workspace. */
  readonly hidden: readonly string[];
}

const MAX_PATH_BYTES = 4_096;
/** The limit of Linux. */
const MAX_LINKS = 40;

/** Throws ToolError when the directory does not exist, or is none. */
export async function openWorkspace(
  directory: string,
  mode: SecurityMode,
  { limitBytes, hidden = [] }: Partial<Pick<Workspace, "limitBytes" | "hidden">> = {},
): Promise<Workspace> {
  const root = await realpath(directory).catch(() => null);
  if (root === null || !(await stat(root)).isDirectory())
    throw new ToolError(`The workspace ${directory} is not a directory; create it first.`);
  return { root, mode, limitBytes, hidden };
}

/**
 * Resolves a path. Symbolic links are followed here and nowhere later: for a file that does not exist yet, those of its nearest
 * existing parent [ER4]. In limited-control the real path has to be in the workspace. Relative paths are resolved against the
 * workspace.
 */
export async function workspacePath(
  workspace: Workspace,
  requested: string,
): Promise<WorkspacePath> {
  checkText(requested);
  const base = workspace.mode === "limited-control" ? workspace.root : sep;
  const real = await realPathOf({ path: resolve(workspace.root, requested), base, requested });
  if (!isWithin(base, real))
    throw new ToolError(
      `Path '${requested}' is outside the allowed workspace '${workspace.root}'; use a path inside it.`,
    );
  const { hidden } = workspace;
  if (isHidden(real, hidden))
    throw new ToolError(
      `Path '${requested}' belongs to this installation of Switchyard; no tool opens it.`,
    );
  const inside = relative(base, real);
  return { base, names: inside === "" ? [] : inside.split(sep), requested, hidden };
}

/** True for a hidden path and for everything below one. */
export function isHidden(real: string, hidden: readonly string[]): boolean {
  return hidden.some((path) => isWithin(foldCase(path), foldCase(real)));
}

/** File systems of macOS do not distinguish case. */
function foldCase(path: string): string {
  return process.platform === "linux" ? path : path.toLowerCase();
}

/** The path as text, for a message or a command's working directory. */
export function pathOf({ base, names }: WorkspacePath): string {
  return resolve(base, ...names);
}

function checkText(requested: string): void {
  if (requested === "") throw new ToolError("The path is empty; use '.' for the workspace itself.");
  if (requested.includes("\0")) throw new ToolError("The path has a zero byte in it.");
  if (Buffer.byteLength(requested) > MAX_PATH_BYTES)
    throw new ToolError(`The path is longer than ${MAX_PATH_BYTES} bytes.`);
}

/**
 * Returns the real path of the nearest part that exists, with the rest as it was written. A dangling link is read here, so that
 * one out of the workspace is reported as such whether or not its target exists: the answer reveals nothing about paths outside.
 */
async function realPathOf({ path, base, requested }: PathToResolve): Promise<string> {
  const missing: string[] = [];
  let links = 0;
  for (let existing = path; ;) {
    const real = await realpath(existing).catch(unresolved);
    if (real !== null) return join(real, ...missing);
    const parent = dirname(existing);
    const target = await readlink(existing).catch(() => null);
    const directory = target === null ? null : await realpath(parent).catch(unresolved);
    if (target === null || directory === null) {
      missing.unshift(basename(existing));
      existing = parent;
      continue;
    }
    // The target of a link outside the workspace is not followed.
    if (!isWithin(base, directory)) return join(directory, ...missing);
    links += 1;
    if (links > MAX_LINKS)
      throw new ToolError(`Path '${requested}' is a circle of symbolic links.`);
    existing = resolve(directory, target);
  }
}

interface PathToResolve {
  readonly path: string;
  /** Links below it may be read. */
  readonly base: string;
  readonly requested: string;
}

/** Null when the path does not exist, or cannot be walked to its end; any other error is one of the machine. */
function unresolved(error: unknown): null {
  if (UNRESOLVED.has(systemErrorCode(error) ?? "")) return null;
  throw error;
}
const UNRESOLVED = new Set(["ENOENT", "ENOTDIR", "EACCES", "ELOOP", "ENAMETOOLONG"]);

function isWithin(base: string, real: string): boolean {
  const inside = relative(base, real);
  return inside.split(sep)[0] !== ".." && !isAbsolute(inside);
}

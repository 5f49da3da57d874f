import { realpath, stat } from "node:fs/promises";
import { basename, delimiter, dirname, isAbsolute, join, resolve } from "node:path";
import { StartError } from "@switchyard/service/start-error";
import { isWithin } from "./scan-directory.ts";

/** A directory from which skills may be imported. */
export interface Root {
  /** The path as configured, for messages. */
  readonly shown: string;
  /** Without links. One that is not there yet: where it will be. */
  readonly path: string;
  readonly scope: "project" | "user" | "workspace";
  /** True for a project that was found automatically: its definitions are listed only when a user trusts them. */
  readonly needsTrust: boolean;
  /** True: it need not be there, and is imported from the moment when it is. */
  readonly mayBeMissing: boolean;
}

/**
 * The prefixes of a root: `user=/home/me/skills`, or `user?=` for one that may be missing. A root without a prefix is a project
 * that the operator named.
 */
const ROOT_KINDS = {
  project: { scope: "project", needsTrust: false },
  found: { scope: "project", needsTrust: true },
  user: { scope: "user", needsTrust: false },
  workspace: { scope: "workspace", needsTrust: false },
} as const;

/**
 * Reads the list of roots, the highest precedence first. Rejects with a StartError when one is not an absolute path of a
 * directory, or when one contains another: the same file would then belong to two roots.
 */
export async function openRoots(list: string): Promise<Root[]> {
  const written = list.split(delimiter).filter((part) => part !== "");
  const roots = await Promise.all(written.map((part) => openRoot(part)));
  for (const [index, root] of roots.entries()) {
    const other = roots.find(
      (candidate, at) => at !== index && isWithin(candidate.path, root.path),
    );
    if (other !== undefined) throw badRoots(`${root.shown} lies in ${other.shown}`);
  }
  return roots;
}

export type Located =
  | { readonly kind: "inside"; readonly root: string; readonly directory: string }
  | { readonly kind: "missing"; readonly directory: string }
  | { readonly kind: "outside"; readonly directory: string };

/**
 * Finds the root that a directory belongs to, before and after links are followed. A path that is outside as written is rejected
 * without reading the disk, so the caller cannot learn what exists there.
 */
export async function locate(roots: readonly Root[], written: string): Promise<Located> {
  const [first] = roots;
  if (first === undefined) return { kind: "outside", directory: written };
  const directory = resolve(first.path, written);
  const isBelowRoot = roots.some(
    (root) => isWithin(root.path, directory) || isWithin(resolve(root.shown), directory),
  );
  if (!isBelowRoot) return { kind: "outside", directory };
  const path = await directoryAt(directory);
  if (path === null) return { kind: "missing", directory };
  const root = roots.find((candidate) => isWithin(candidate.path, path));
  if (root === undefined) return { kind: "outside", directory };
  return { kind: "inside", root: root.path, directory: path };
}

async function openRoot(written: string): Promise<Root> {
  const prefix = /^(project|found|user|workspace)(\?)?=/.exec(written);
  const shown = prefix === null ? written : written.slice(prefix[0].length);
  // The expression has the names of the table.
  const kind = ROOT_KINDS[(prefix?.[1] ?? "project") as keyof typeof ROOT_KINDS];
  if (!isAbsolute(shown)) throw badRoots(`${shown} is not an absolute path`);
  const mayBeMissing = prefix?.[2] === "?";
  const path = (await directoryAt(shown)) ?? (mayBeMissing ? await futurePath(shown) : null);
  if (path === null) throw badRoots(`${shown} is not a directory that can be read`);
  return { shown, path, mayBeMissing, ...kind };
}

/** Returns the real path that a missing path will have, unless a link is created on the way. */
async function futurePath(path: string): Promise<string> {
  const parent = dirname(path);
  if (parent === path) return path;
  const real = (await directoryAt(parent)) ?? (await futurePath(parent));
  return join(real, basename(path));
}

/** Returns the roots that are present, and the paths of those that may be created later. */
export async function presentRoots(
  roots: readonly Root[],
): Promise<{ present: Root[]; missing: string[] }> {
  const present: Root[] = [];
  const missing: string[] = [];
  for (const root of roots) {
    // A link that was created there in the meantime leads to a directory that was not allowed.
    const isThere = !root.mayBeMissing || (await directoryAt(root.path)) === root.path;
    if (isThere) present.push(root);
    else missing.push(root.path);
  }
  return { present, missing };
}

async function directoryAt(path: string): Promise<string | null> {
  try {
    const real = await realpath(path);
    return (await stat(real)).isDirectory() ? real : null;
  } catch {
    return null;
  }
}

function badRoots(problem: string): StartError {
  return new StartError(`YARD_SKILL_ROOTS: ${problem}`, {
    hint: `list absolute paths of existing directories, separated by ${delimiter}; project=, found=, user= or workspace= may stand before each, with a ? before the = when it need not exist yet`,
  });
}

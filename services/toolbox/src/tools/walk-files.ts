import type { Dirent } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { ToolError } from "../tool-error.ts";
import { holdDirectory, explained } from "../workspace/open-path.ts";
import { isHidden, pathOf, type WorkspacePath } from "../workspace/workspace.ts";

export interface FoundEntry {
  /** Path below the directory that the walk began at, with `/` between names. */
  readonly path: string;
  readonly kind: "file" | "directory" | "link" | "other" | "unread";
}

/** Directories that a walk does not enter, since they are rarely wanted and often huge; the last two hold the state of `yard dev`. */
const NOT_ENTERED = new Set([".git", "node_modules", ".yard", ".switchyard"]);
const MAX_DEPTH = 32;

/**
 * The entries of a directory in the order of their names, with those of its directories behind them.
 * Links are named and never followed. A directory in it that cannot be read, or went away, is named once more, as `unread`.
 */
export async function* walkFiles(
  target: WorkspacePath,
  { recursive, signal }: { recursive: boolean; signal: AbortSignal },
): AsyncGenerator<FoundEntry> {
  yield* walk({ target, below: [], recursive, signal });
}

interface Walk {
  readonly target: WorkspacePath;
  readonly below: readonly string[];
  readonly recursive: boolean;
  readonly signal: AbortSignal;
}

async function* walk({ target, below, recursive, signal }: Walk): AsyncGenerator<FoundEntry> {
  const entries = await entriesOf(target, below);
  if (entries === null) yield { path: below.join("/"), kind: "unread" };
  for (const entry of entries ?? []) {
    signal.throwIfAborted();
    const kind = kindOf(entry);
    yield { path: [...below, entry.name].join("/"), kind };
    const inside = [...below, entry.name];
    const entered =
      kind === "directory" &&
      !NOT_ENTERED.has(entry.name) &&
      !isHidden(join(pathOf(target), ...inside), target.hidden) &&
      below.length < MAX_DEPTH;
    if (recursive && entered) yield* walk({ target, below: inside, recursive, signal });
  }
}

/** Returns null for an unreadable directory, unless it is the requested one. */
async function entriesOf(
  target: WorkspacePath,
  below: readonly string[],
): Promise<Dirent[] | null> {
  try {
    return await namesOf(target, below);
  } catch (error) {
    if (below.length > 0 && error instanceof ToolError) return null;
    throw error;
  }
}

async function namesOf(target: WorkspacePath, below: readonly string[]): Promise<Dirent[]> {
  const directory = await holdDirectory(target, [...target.names, ...below]);
  try {
    const entries = await readdir(directory.path(), { withFileTypes: true });
    return entries.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  } catch (error) {
    throw explained(error, target.requested);
  } finally {
    await directory.close();
  }
}

function kindOf(entry: Dirent): FoundEntry["kind"] {
  if (entry.isSymbolicLink()) return "link";
  if (entry.isDirectory()) return "directory";
  return entry.isFile() ? "file" : "other";
}

import { readFileSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

/** The directory of the repository that a directory belongs to; null outside of one [D33]. */
export function gitRoot(directory: string): string | null {
  for (let at = resolve(directory); ; at = dirname(at)) {
    if (statSync(join(at, ".git"), { throwIfNoEntry: false }) !== undefined) return at;
    if (at === dirname(at)) return null;
  }
}

export function isGitRepo(directory: string): boolean {
  return gitRoot(directory) !== null;
}

/** The branch that is checked out; null without one. Git itself is not needed. */
export function currentBranch(directory: string): string | null {
  const root = gitRoot(directory);
  if (root === null) return null;
  try {
    const path = join(root, ".git");
    const isFile = statSync(path).isFile();
    // A work tree of its own has a file that names the directory.
    const named = isFile ? /^gitdir: (.+)$/m.exec(readFileSync(path, "utf8"))?.[1] : undefined;
    const head = readFileSync(
      join(named === undefined ? path : resolve(root, named), "HEAD"),
      "utf8",
    );
    return /^ref: refs\/heads\/(.+)$/m.exec(head)?.[1] ?? null;
  } catch {
    return null;
  }
}

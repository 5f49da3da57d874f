import type { Dirent } from "node:fs";
import { readdir, realpath, stat } from "node:fs/promises";
import { basename, dirname, join, relative, sep } from "node:path";
import type { Diagnostic } from "@switchyard/contracts/skill-importer/skills";
import { LEGACY_FILE } from "../skill/legacy-skill.ts";
import { skillFileIn } from "./package.ts";
import { errorFinding, warningFinding, type Finding } from "../finding.ts";

/** A file that is a skill or an agent by its name and location. */
export interface Candidate {
  readonly kind: "skill" | "agent";
  /** Relative to the root, with `/`. */
  readonly file: string;
  /** The real path: no link is left in it. */
  readonly path: string;
  /** The reason why it must not be read, or null. */
  readonly problem: Finding | null;
  /** The directory's entries by name; missing when the file was reached by a link, and is in another directory. */
  readonly beside?: readonly Dirent[];
}

export interface Scan {
  /** The candidates in path order. */
  readonly candidates: readonly Candidate[];
  /** Real paths of every directory that was read. */
  readonly directories: readonly string[];
  readonly diagnostics: readonly Diagnostic[];
  /** The number of skills that a limit left out, as far as the search got: the directories below them were not searched. */
  readonly skillsLeftOut: number;
}

const MAX_LEVELS = 6;
const MAX_DIRECTORIES = 10_000;
/** Listed at a time: the disk answers many as fast as one. */
const AT_ONCE = 16;
/** The number of the items left out that are named. */
const NAMED = 5;
const NEVER_ENTERED = new Set(["node_modules", ".git", ".yard", ".switchyard"]);
const SPELT_LIKE_A_SKILL = /^skills?\.md$/i;
/** Directories whose entries are skills and agents, or links to some. */
const LISTS = new Set(["skills", "agents"]);
const AGENT_FILES = new Set(["agent.yaml", "agent.yml", "AGENT.md"]);

/**
 * Finds skills and agents at and below a directory. Both paths must be real paths, the directory at
 * or below the root. Links are followed only while they stay in the root. Rejects when the directory
 * itself cannot be read; a directory below it that cannot is a diagnostic.
 */
export async function scanDirectory(root: string, directory: string): Promise<Scan> {
  const walk = new Walk(root);
  await walk.from(directory);
  return walk.result();
}

/** True when a real path is the directory or lies below it. */
export function isWithin(directory: string, path: string): boolean {
  return (
    path === directory || path.startsWith(directory.endsWith(sep) ? directory : directory + sep)
  );
}

interface Directory {
  readonly path: string;
  readonly level: number;
  /** Below a SKILL.md files belong to that skill; agents among them are not the project's. */
  readonly isInSkill: boolean;
}

class Walk {
  readonly #root: string;
  readonly #candidates: Candidate[] = [];
  readonly #diagnostics: Diagnostic[] = [];
  readonly #seen = new Set<string>();
  /** The items left out by each limit: the limit in words, and the directories in the order of the search. */
  readonly #unsearched = new Map<string, { path: string; isSkill: boolean }[]>();

  constructor(root: string) {
    this.#root = root;
  }

  /** Level by level, so that the limit on directories leaves out the deepest ones. */
  async from(directory: string): Promise<void> {
    const shown = this.#shown(directory);
    const level = shown === "." ? 0 : shown.split("/").length;
    this.#seen.add(directory);
    const start = { path: directory, level, isInSkill: false };
    let directories = await this.#read(start, await listDirectory(directory));
    while (directories.length > 0) {
      const below: Directory[] = [];
      for (let at = 0; at < directories.length; at += AT_ONCE) {
        const some = directories.slice(at, at + AT_ONCE);
        const lists = await Promise.all(some.map(({ path }) => listOrProblem(path)));
        for (const [index, one] of some.entries()) {
          // Entered one by one: the order, and with it the limit, is the same on every run.
          below.push(...(await this.#enter(one, lists[index] ?? [])));
        }
      }
      directories = below;
    }
  }

  result(): Scan {
    return {
      candidates: this.#candidates.toSorted((a, b) => (a.file < b.file ? -1 : 1)),
      directories: [...this.#seen],
      diagnostics: [
        ...this.#diagnostics,
        ...[...this.#unsearched].map(([limit, directories]) =>
          this.#limitReached(limit, directories),
        ),
      ],
      skillsLeftOut: [...this.#unsearched.values()].flat().filter(({ isSkill }) => isSkill).length,
    };
  }

  async #enter(directory: Directory, listed: readonly Dirent[] | string): Promise<Directory[]> {
    if (this.#seen.has(directory.path)) return [];
    const limit =
      directory.level > MAX_LEVELS
        ? `${MAX_LEVELS} levels`
        : this.#seen.size >= MAX_DIRECTORIES
          ? `${MAX_DIRECTORIES} directories`
          : null;
    if (limit !== null) {
      const names = new Set(typeof listed === "string" ? [] : listed.map(({ name }) => name));
      const isSkill = !directory.isInSkill && skillFileIn(names) !== undefined;
      const directories = this.#unsearched.get(limit) ?? [];
      directories.push({ path: directory.path, isSkill });
      this.#unsearched.set(limit, directories);
      return [];
    }
    this.#seen.add(directory.path);
    if (typeof listed !== "string") return this.#read(directory, listed);
    this.#report(directory.path, warningFinding("unreadable_directory", listed));
    return [];
  }

  async #read(directory: Directory, entries: readonly Dirent[]): Promise<Directory[]> {
    const names = new Set(entries.filter((one) => !one.isDirectory()).map(({ name }) => name));
    const found = skillFileIn(names);
    // Below a skill the former format is a file like any other.
    const skillFile = found === LEGACY_FILE && directory.isInSkill ? undefined : found;
    const isInSkill = directory.isInSkill || skillFile !== undefined;
    const below: Directory[] = [];
    for (const entry of entries) {
      const kind = kindOf(entry.name, { directory: directory.path, skillFile, isInSkill });
      const isLink = entry.isSymbolicLink();
      if (!isLink && !entry.isDirectory() && kind === null) {
        if (skillFile === undefined) this.#remarkSpelling(directory, entry);
        continue;
      }
      const path = join(directory.path, entry.name);
      const target = isLink
        ? await this.#follow(path, kind)
        : { path, isDirectory: entry.isDirectory(), problem: problemOf(entry) };
      if (target === null) continue;
      if (target.isDirectory) {
        if (NEVER_ENTERED.has(entry.name)) continue;
        below.push({ path: target.path, level: directory.level + 1, isInSkill });
      } else if (kind !== null) {
        const beside = isLink || kind !== "skill" ? {} : { beside: entries };
        const { problem } = target;
        const file = this.#shown(path);
        this.#candidates.push({ kind, file, path: target.path, problem, ...beside });
      }
    }
    return below;
  }

  /** Resolves a link; null when its target is neither a directory nor a file of interest. */
  async #follow(
    path: string,
    kind: Candidate["kind"] | null,
  ): Promise<{ path: string; isDirectory: boolean; problem: Finding | null } | null> {
    const target = await targetOf(path);
    if (target === null) {
      const message = "the link leads to nothing";
      if (kind !== null)
        return { path, isDirectory: false, problem: errorFinding("dangling_link", message) };
      if (LISTS.has(basename(dirname(path))))
        this.#report(path, warningFinding("dangling_link", message));
      return null;
    }
    if (isWithin(this.#root, target.path)) {
      return target.isDirectory || kind !== null ? { ...target, problem: null } : null;
    }
    const message = "the link leads out of the root and was not followed; put a copy in its place";
    if (kind !== null && !target.isDirectory) {
      return { ...target, problem: errorFinding("symlink_escape", message) };
    }
    if (target.isDirectory) this.#report(path, warningFinding("symlink_escape", message));
    return null;
  }

  /** On systems that ignore case it is one, so its author never saw that it is not. */
  #remarkSpelling(directory: Directory, { name }: Dirent): void {
    if (directory.isInSkill || !SPELT_LIKE_A_SKILL.test(name)) return;
    const message = `not read: a skill's file is called SKILL.md, and this one ${name}; rename it`;
    this.#report(join(directory.path, name), warningFinding("skill_file_name", message));
  }

  #limitReached(
    limit: string,
    directories: readonly { path: string; isSkill: boolean }[],
  ): Diagnostic {
    const skills = directories.filter(({ isSkill }) => isSkill);
    const shown = (skills.length > 0 ? skills : directories).map(({ path }) => this.#shown(path));
    const more = shown.length > NAMED ? `, and ${shown.length - NAMED} more` : "";
    const count =
      skills.length > 0
        ? `${directories.length} directories with at least ${skills.length} skills were`
        : `${directories.length} directories were`;
    const message = `the search ends after ${limit}: ${count} not searched (${shown.slice(0, NAMED).join(", ")}${more}); put them under a root of their own`;
    return { ...warningFinding("scan_limit", message), file: shown[0] ?? "." };
  }

  #report(path: string, finding: Finding): void {
    this.#diagnostics.push({ ...finding, file: this.#shown(path) });
  }

  #shown(path: string): string {
    return relative(this.#root, path).split(sep).join("/") || ".";
  }
}

/** A pipe or a device is not read as a file because of its name. */
function problemOf(entry: Dirent): Finding | null {
  if (entry.isFile() || entry.isDirectory()) return null;
  return errorFinding("not_a_file", "this is not a regular file and was not read");
}

function kindOf(
  name: string,
  within: { directory: string; skillFile: string | undefined; isInSkill: boolean },
): Candidate["kind"] | null {
  if (name === within.skillFile) return "skill";
  if (within.isInSkill) return null;
  if (AGENT_FILES.has(name)) return "agent";
  const isAmongAgents = basename(within.directory) === "agents";
  return isAmongAgents && /\.(?:ya?ml|md)$/.test(name) ? "agent" : null;
}

/** Returns the entries of a directory, sorted by name. */
export async function listDirectory(directory: string): Promise<Dirent[]> {
  const entries = await readdir(directory, { withFileTypes: true });
  return entries.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** Returns the entries, or the problem in words; the promise never rejects. */
async function listOrProblem(directory: string): Promise<readonly Dirent[] | string> {
  try {
    return await listDirectory(directory);
  } catch (error) {
    return `the directory cannot be read: ${codeOf(error)}`;
  }
}

async function targetOf(link: string): Promise<{ path: string; isDirectory: boolean } | null> {
  try {
    const path = await realpath(link);
    const facts = await stat(path);
    return facts.isDirectory() || facts.isFile()
      ? { path, isDirectory: facts.isDirectory() }
      : null;
  } catch {
    return null; // a dangling link leads to no skill
  }
}

/** Returns the system's error code for a file that cannot be read. */
export function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "unknown error";
}

/** The name of the directory that holds a candidate; the root's own name for a file right in it. */
export function directoryNameOf(candidate: Candidate, root: string): string {
  const directory = dirname(candidate.file);
  return directory === "." ? basename(root) : basename(directory);
}

import { basename, dirname } from "node:path/posix";
import { digestOf } from "@switchyard/contracts/canonical-json";
import { cutText } from "@switchyard/contracts/cut-text";
import type { SkillFileFacts } from "@switchyard/contracts/skill-importer/skill-store";
import { errorFinding, warningFinding, type Finding } from "../finding.ts";
import { LEGACY_FILE, LEGACY_PROMPT } from "../skill/legacy-skill.ts";
import { foldedPath, pathProblemOf } from "./safe-path.ts";

/** The package that a source yields: a skill's directory as bytes, or the one file of an agent. */
export interface Package {
  readonly kind: "skill" | "agent";
  /** The sender's path, shown in diagnostics. For an agent it is `.`. */
  readonly directory: string;
  /** The name of a definition that has none. */
  readonly directoryName: string;
  /** The directory on this machine's disk; null for a package that a client sent. */
  readonly realDirectory: string | null;
  /** The file that makes it a definition, relative to the directory; null when a skill has none. */
  readonly mainFile: string | null;
  /** The files by path, sorted. */
  readonly files: ReadonlyMap<string, Uint8Array>;
  readonly findings: readonly Finding[];
}

/** The accepted names in order of preference; the last is an old spelling. */
export const SKILL_FILE_NAMES = ["SKILL.md", "skill.md", "skills.md"] as const;

/** The limits for one skill. A file beyond them is left out with a warning; the skill loads. */
export const PACKAGE_LIMITS = {
  files: 200,
  fileBytes: 1024 * 1024,
  bytes: 8 * 1024 * 1024,
} as const;

/** Its file as it is shown; the directory when there is none. */
export function shownFile({ directory, mainFile }: Package): string {
  if (mainFile === null) return directory;
  return directory === "." ? mainFile : `${directory}/${mainFile}`;
}

/** Builds the package of an agent's file that a client sent. */
export function agentPackage(path: string, bytes: Uint8Array): Package {
  const file = path.replaceAll("\\", "/");
  const problem = pathProblemOf(file);
  return {
    kind: "agent",
    directory: ".",
    directoryName: basename(dirname(file)),
    realDirectory: null,
    mainFile: file,
    files: new Map(problem === null ? [[file, bytes]] : []),
    findings: problem === null ? [] : [unsafePath(problem, file)],
  };
}

/**
 * Builds a skill's package from files that a client sent. An unsafe path makes the whole package unusable: its sender is
 * malicious or has lost a file. Paths that differ by case only are both kept, since no file is written to a disk where they would
 * collide; of one path that was sent twice the first counts. A warning names both.
 */
export function packageOf(
  directory: string,
  sent: Iterable<readonly [path: string, bytes: Uint8Array]>,
): Package {
  const findings: Finding[] = [];
  const files = new Map<string, Uint8Array>();
  const folded = new Map<string, string>();
  let total = 0;
  // The skill file first, so that no cap can leave it out.
  for (const [path, bytes] of [...sent].toSorted(bySkillFileThenPath)) {
    // In a file system without case only one of SKILL.md and skill.md can exist; the first is the skill.
    if (isSkillFile(path) && folded.has(foldedPath(path))) {
      findings.push(fileNotKept(path, "another file is the skill"));
      continue;
    }
    const problem = pathProblemOf(path);
    if (problem !== null) {
      findings.push(unsafePath(problem, path));
      continue;
    }
    const twin = folded.get(foldedPath(path));
    if (twin !== undefined) findings.push(pathTwice(path, twin));
    if (files.has(path)) continue;
    folded.set(foldedPath(path), path);
    const leftOut = limitOf({ bytes: bytes.length, total, files: files.size });
    if (leftOut !== null && rankOf(path) === 0) {
      findings.push(fileNotKept(path, leftOut));
      continue;
    }
    total += bytes.length;
    files.set(path, bytes);
  }
  const name = basename(directory);
  return {
    kind: "skill",
    directory,
    directoryName: name === "." ? "skill" : name,
    realDirectory: null,
    mainFile: skillFileIn(files) ?? null,
    files: new Map([...files].toSorted(([a], [b]) => (a < b ? -1 : 1))),
    findings,
  };
}

/** The warning about a file that is too much for a package. */
export function fileNotKept(path: string, why: string): Finding {
  return warningFinding("file_not_kept", `${path} is not stored with the skill: ${why}`);
}

/** Returns the reason why one more file would be too much, or null. */
export function limitOf(given: { bytes: number; total: number; files: number }): string | null {
  if (given.files >= PACKAGE_LIMITS.files)
    return `a skill has at most ${PACKAGE_LIMITS.files} files`;
  if (given.bytes > PACKAGE_LIMITS.fileBytes)
    return `it has ${given.bytes} bytes, at most ${PACKAGE_LIMITS.fileBytes} are kept`;
  return given.total + given.bytes > PACKAGE_LIMITS.bytes
    ? `a skill's files have at most ${PACKAGE_LIMITS.bytes} bytes together`
    : null;
}

/** The facts of each file, by path. */
export function fileFacts(files: ReadonlyMap<string, Uint8Array>): SkillFileFacts[] {
  return [...files].map(([path, bytes]) => {
    return { path, sizeBytes: bytes.length, digest: digestOf(bytes) };
  });
}

/** Returns the version of a set of files: the same files have the same version, whatever their source. */
export function versionOf(facts: readonly SkillFileFacts[]): string {
  const lines = facts
    .map(({ path, digest }) => `${path}:${digest.slice("sha256:".length)}\n`)
    .toSorted();
  return digestOf(lines.join(""));
}

/**
 * Finds the skills in a tree of files: each directory with a skill file is one, with everything below it that belongs to no
 * other. Files outside of every skill are left out.
 */
export function packagesIn(files: ReadonlyMap<string, Uint8Array>): Package[] {
  const skills = new Map<string, [string, Uint8Array][]>();
  for (const path of files.keys()) {
    if (isSkillFile(basename(path))) skills.set(dirname(path), []);
  }
  // The former format: outside of every skill, and of two in one another the outer one.
  const former = [...files.keys()].filter((path) => basename(path) === LEGACY_FILE);
  for (const directory of former.map((path) => dirname(path)).toSorted(shortestFirst)) {
    if (homeOf(directory, skills) === undefined) skills.set(directory, []);
  }
  for (const [path, bytes] of files) {
    const at = homeOf(dirname(path), skills);
    if (at !== undefined)
      skills.get(at)?.push([at === "." ? path : path.slice(at.length + 1), bytes]);
  }
  return [...skills]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([directory, own]) => packageOf(directory, own));
}

/** True for a name that makes its directory a skill. */
export function isSkillFile(name: string): boolean {
  return SKILL_FILE_NAMES.some((known) => known === name);
}

/** Returns the file that makes a directory a skill: a SKILL.md takes precedence over the former format. */
export function skillFileIn(names: { has: (name: string) => boolean }): string | undefined {
  const found = SKILL_FILE_NAMES.find((name) => names.has(name));
  return found ?? (names.has(LEGACY_FILE) ? LEGACY_FILE : undefined);
}

/** The nearest skill that a directory is or lies in. */
function homeOf(directory: string, skills: ReadonlyMap<string, unknown>): string | undefined {
  for (let at = directory; ; at = dirname(at)) {
    if (skills.has(at)) return at;
    if (at === ".") return undefined;
  }
}

function shortestFirst(a: string, b: string): number {
  return a.length - b.length || (a < b ? -1 : 1);
}

/** The files that a skill needs most come first. */
function rankOf(path: string): number {
  if (isSkillFile(path)) return 2;
  return path === LEGACY_FILE || path === LEGACY_PROMPT ? 1 : 0;
}

function bySkillFileThenPath(
  [a]: readonly [string, Uint8Array],
  [b]: readonly [string, Uint8Array],
): number {
  const byKind = rankOf(b) - rankOf(a);
  return byKind === 0 ? (a < b ? -1 : 1) : byKind;
}

function pathTwice(path: string, twin: string): Finding {
  const [shown, first] = [path, twin].map((one) => JSON.stringify(cutText(one, 120)));
  return warningFinding(
    "path_twice",
    path === twin
      ? `the file ${shown} was sent twice; only the first is kept; send one`
      : `the files ${first} and ${shown} are one file where names have no case; both are kept; rename one`,
  );
}

function unsafePath(problem: string, path: string): Finding {
  const shown = JSON.stringify(path.slice(0, 120));
  return errorFinding(problem, `the file name ${shown} cannot be used; rename it`);
}

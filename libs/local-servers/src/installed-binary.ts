import { access, constants, readdir } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, isAbsolute, join } from "node:path";

import type { RunCommand } from "./run-command.ts";
import { programOf, isRecentEnough, type ProgramKind } from "./server-kinds.ts";
import { versionIn } from "./version.ts";

export interface FoundBinary {
  binary: string;
  version: string;
  /** The origin of the program, for a person: `YARD_BIN_DIR`, `PATH`, … */
  source: string;
}

/** Directories where package managers put servers and which a login shell's PATH may lack. */
export const SYSTEM_DIRS = [
  "/usr/sbin",
  "/usr/local/sbin",
  "/usr/bin",
  "/usr/local/bin",
  "/opt/homebrew/bin",
  "/snap/bin",
] as const;

const VERSION_TIMEOUT_MS = 5_000;

/** `${XDG_CACHE_HOME:-~/.cache}/switchyard` */
export function cacheDir(env: NodeJS.ProcessEnv): string {
  const base = env["XDG_CACHE_HOME"];
  // The XDG specification: a relative path is to be ignored.
  return join(
    base !== undefined && isAbsolute(base) ? base : join(env["HOME"] ?? homedir(), ".cache"),
    "switchyard",
  );
}

/** The variable with the directory that is searched first. */
const BIN_DIR = "YARD_BIN_DIR";

/**
 * The first installed program that is recent enough, or why there is none; every one passed over is named.
 * Rejects when there is no directory `YARD_BIN_DIR`, or the program in it is not usable: the person has chosen that one.
 */
export async function findInstalledBinary(options: {
  kind: ProgramKind;
  env: NodeJS.ProcessEnv;
  run: RunCommand;
  systemDirs?: readonly string[];
}): Promise<FoundBinary | { reason: string }> {
  const { kind, env, run, systemDirs = SYSTEM_DIRS } = options;
  const chosen = await chosenBinary(kind, env[BIN_DIR] ?? "");
  if (chosen !== null) {
    const verdict = await examineBinary(kind, chosen, run);
    if ("problem" in verdict)
      throw new Error(`${kind.name}: ${BIN_DIR}: ${verdict.problem}; correct or unset ${BIN_DIR}`);
    return { binary: chosen, version: verdict.version, source: BIN_DIR };
  }
  const problems: string[] = [];
  for (const { binary, source } of await candidates(kind, env, systemDirs)) {
    const verdict = await examineBinary(kind, binary, run);
    if ("version" in verdict) return { binary, version: verdict.version, source };
    problems.push(verdict.problem);
  }
  const programs = kind.programs.map(({ program }) => program).join(" or ");
  return {
    reason:
      problems.length === 0
        ? `no ${programs} on PATH, in the system directories or in ${cacheDir(env)}`
        : problems.join("; "),
  };
}

/** The program in the directory that the person names; null where it has none. */
async function chosenBinary(kind: ProgramKind, directory: string): Promise<string | null> {
  if (directory === "") return null;
  const names = await readdir(directory).catch((cause: unknown) => {
    throw new Error(`${kind.name}: ${BIN_DIR}: ${directory} cannot be read; correct or unset it`, {
      cause,
    });
  });
  const found = kind.programs.find(({ program }) => names.includes(program));
  return found === undefined ? null : join(directory, found.program);
}

/** Runs `{binary} --version` and judges the answer. */
export async function examineBinary(
  kind: ProgramKind,
  binary: string,
  run: RunCommand,
): Promise<{ version: string } | { problem: string }> {
  const { code, stdout, stderr } = await run(binary, ["--version"], {
    timeoutMs: VERSION_TIMEOUT_MS,
  });
  if (code !== 0)
    return {
      problem: `${binary} --version fails: ${(stderr || stdout).trim() || `exit code ${code}`}`,
    };
  const version = versionIn(stdout);
  if (version === null)
    return {
      problem: `${binary} --version prints no version (${JSON.stringify(stdout.trim().slice(0, 80))})`,
    };
  const { minimum } = programOf(kind, stdout);
  return isRecentEnough(version, minimum)
    ? { version }
    : { problem: `${binary} is ${version}, ${shortVersion(minimum)} or newer is needed` };
}

async function candidates(
  kind: ProgramKind,
  env: NodeJS.ProcessEnv,
  systemDirs: readonly string[],
): Promise<{ binary: string; source: string }[]> {
  const path = (env["PATH"] ?? "").split(delimiter).filter(isAbsolute);
  // The cache comes last: a program that is installed later may have rights that an unpacked one lacks.
  const places = [
    ...path.map((dir) => ({ dir, source: "PATH" })),
    ...systemDirs.map((dir) => ({ dir, source: "system directory" })),
    { dir: join(cacheDir(env), "bin"), source: "user cache" },
  ];
  const seen = new Set<string>();
  const found: { binary: string; source: string }[] = [];
  for (const { program } of kind.programs) {
    for (const { dir, source } of places) {
      const binary = join(dir, program);
      if (seen.has(binary) || !(await isExecutable(binary))) continue;
      seen.add(binary);
      found.push({ binary, source });
    }
  }
  return found;
}

async function isExecutable(file: string): Promise<boolean> {
  return access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
}

function shortVersion(version: string): string {
  return version.replace(/\.0$/, "");
}

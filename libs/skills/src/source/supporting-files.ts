import type { Dirent } from "node:fs";
import { join } from "node:path";
import { LEGACY_FILE, LEGACY_PROMPT } from "../skill/legacy-skill.ts";
import type { Finding } from "../finding.ts";
import { readFileIf } from "./read-file-if.ts";
import { fileNotKept, isSkillFile, limitOf, PACKAGE_LIMITS, type Package } from "./package.ts";
import { codeOf, listDirectory } from "./scan-directory.ts";

/** Directories of a skill that the standard defines; of a skill directly in a root only these are read. */
const STANDARD_DIRECTORIES = new Set(["references", "scripts", "assets"]);
const NEVER_TAKEN = new Set(["node_modules"]);
const MAX_LEVELS = 6;
const MAX_FINDINGS = 20;

/**
 * Reads the files that belong to a skill: everything below its directory except hidden files, installed packages, links and other
 * skills. `directory` is a real path, `entries` its entries by name, if known. There is a finding for each file that is left out,
 * including unreadable ones.
 */
export async function readSupportingFiles(
  directory: string,
  given: { isRoot: boolean; skillFile: string; entries?: readonly Dirent[] | undefined },
): Promise<Pick<Package, "files" | "findings">> {
  const { isRoot, skillFile } = given;
  const collector = new Collector(directory);
  for (const entry of given.entries ?? (await entriesOf(directory))) {
    if (entry.name === skillFile || isSkillFile(entry.name)) continue;
    const isPart = skillFile === LEGACY_FILE && entry.name === LEGACY_PROMPT;
    if (isRoot && !isPart && !STANDARD_DIRECTORIES.has(entry.name)) continue;
    await collector.take(entry, "", 1);
  }
  return { files: collector.files, findings: collector.findings };
}

class Collector {
  readonly files = new Map<string, Uint8Array>();
  readonly findings: Finding[] = [];
  readonly #directory: string;
  #bytes = 0;

  constructor(directory: string) {
    this.#directory = directory;
  }

  async take(entry: Dirent, above: string, level: number): Promise<void> {
    const path = above === "" ? entry.name : `${above}/${entry.name}`;
    if (entry.name.startsWith(".") || NEVER_TAKEN.has(entry.name)) return;
    if (entry.isSymbolicLink()) return this.#leaveOut(path, "links are not followed");
    if (entry.isFile()) return this.#read(path);
    if (!entry.isDirectory()) return;
    if (level >= MAX_LEVELS) return this.#leaveOut(path, `it lies ${MAX_LEVELS} levels down`);
    const entries = await entriesOf(join(this.#directory, path));
    // Files beside another skill file belong to that skill.
    if (entries.some(({ name }) => isSkillFile(name))) return;
    for (const below of entries) await this.take(below, path, level + 1);
  }

  async #read(path: string): Promise<void> {
    if (this.files.size >= PACKAGE_LIMITS.files) {
      return this.#leaveOut(path, `a skill has at most ${PACKAGE_LIMITS.files} files`);
    }
    try {
      let why: string | null = null;
      const bytes = await readFileIf(join(this.#directory, path), (sizeBytes) => {
        why = limitOf({ bytes: sizeBytes, total: this.#bytes, files: this.files.size });
        return why === null;
      });
      if (bytes === null) return this.#leaveOut(path, why ?? "it is too large");
      this.#bytes += bytes.length;
      this.files.set(path, bytes);
    } catch (error) {
      this.#leaveOut(path, `it cannot be read: ${codeOf(error)}`);
    }
  }

  #leaveOut(path: string, why: string): void {
    if (this.findings.length < MAX_FINDINGS) this.findings.push(fileNotKept(path, why));
  }
}

async function entriesOf(directory: string): Promise<Dirent[]> {
  return listDirectory(directory).catch(() => []);
}

import { isUtf8 } from "node:buffer";
import type { Dirent } from "node:fs";
import { open, readdir, realpath, stat } from "node:fs/promises";
import { basename, join, sep } from "node:path";
import type { SentSkill } from "@switchyard/contracts/skill-importer/skill-store";
import type { SentFile } from "@switchyard/contracts/skill-importer/definition-store";

/** A skill of this machine, ready to be sent. */
export interface LocalSkill {
  readonly skill: SentSkill;
  readonly sizeBytes: number;
  /** Files that are not sent, each with the reason. */
  readonly leftOut: readonly string[];
}

const SKILL_FILES = new Set(["SKILL.md", "skill.md", "skills.md"]);
/** The former format: a skill only where no other is, and outside of every skill. */
const LEGACY_FILES = new Set(["skill.json", "prompt.md"]);
const NEVER_ENTERED = new Set(["node_modules", ".git", ".yard", ".switchyard"]);
/** The same limits as the importer's, which checks again. */
const LIMITS = { files: 200, fileBytes: 1024 * 1024, bytes: 8 * 1024 * 1024, levels: 32 };

/** Called for each path that may hold a skill and is not read. */
export type NotLookedAt = (path: string, why: string) => void;

/**
 * Finds the skills below a directory and reads them one by one, in path order: however many there
 * are, one of them is in memory. Links are never followed, and hidden files are not sent.
 */
export async function* localSkills(
  directory: string,
  onSkipped: NotLookedAt,
): AsyncGenerator<LocalSkill> {
  yield* walk({ top: directory, onSkipped }, { path: "", level: 0, isInSkill: false });
}

async function* walk(
  from: { top: string; onSkipped: NotLookedAt },
  { path, level, isInSkill }: { path: string; level: number; isInSkill: boolean },
): AsyncGenerator<LocalSkill> {
  const { top, onSkipped } = from;
  const entries = await list(join(top, path), (code) =>
    onSkipped(path === "" ? "." : path, `the directory cannot be read: ${code}`),
  );
  const isSkill =
    entries.some(({ name }) => SKILL_FILES.has(name)) ||
    (!isInSkill && entries.some(({ name }) => name === "skill.json"));
  if (isSkill) yield await read(top, path, entries);
  if (level >= LIMITS.levels) return;
  for (const entry of entries) {
    const below = path === "" ? entry.name : `${path}/${entry.name}`;
    if (!isSkill && !isInSkill) await remark(from, below, entry);
    if (!entry.isDirectory() || NEVER_ENTERED.has(entry.name)) continue;
    yield* walk(from, {
      path: below,
      level: level + 1,
      isInSkill: isInSkill || isSkill,
    });
  }
}

/** Reports skipped entries, so that a missing skill has a visible reason. */
async function remark(
  { top, onSkipped }: { top: string; onSkipped: NotLookedAt },
  path: string,
  entry: Dirent,
): Promise<void> {
  if (entry.isFile() && /^skills?\.md$/i.test(entry.name))
    return onSkipped(
      path,
      `a skill's file is called SKILL.md, and this one ${entry.name}; rename it`,
    );
  if (!entry.isSymbolicLink() || NEVER_ENTERED.has(entry.name)) return;
  const real = await realpath(join(top, path)).catch(() => null);
  // A target within the tree is found without the link.
  if (real?.startsWith((await realpath(top)) + sep) === true) return;
  if (real === null || (await stat(real)).isDirectory())
    onSkipped(path, "links are not followed; name the directory that it leads to");
}

async function read(top: string, path: string, entries: readonly Dirent[]): Promise<LocalSkill> {
  const reader = new SkillReader(join(top, path));
  // The skill file first: no limit may leave it out.
  const sorted = entries.toSorted((a, b) => rankOf(b.name) - rankOf(a.name));
  for (const entry of sorted) await reader.take(entry, "", 1);
  const directory = path === "" ? basename(top) || "." : path;
  const { files, leftOut, sizeBytes } = reader;
  return { skill: { directory, files }, sizeBytes, leftOut };
}

function rankOf(name: string): number {
  return SKILL_FILES.has(name) ? 2 : LEGACY_FILES.has(name) ? 1 : 0;
}

class SkillReader {
  readonly files: SentFile[] = [];
  readonly leftOut: string[] = [];
  sizeBytes = 0;
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  async take(entry: Dirent, above: string, level: number): Promise<void> {
    const path = above === "" ? entry.name : `${above}/${entry.name}`;
    const isHidden = entry.name.startsWith(".") || NEVER_ENTERED.has(entry.name);
    if (isHidden) return;
    if (entry.isSymbolicLink()) return void this.leftOut.push(`${path}: a link`);
    if (entry.isFile()) return this.#read(path);
    if (!entry.isDirectory() || level >= LIMITS.levels) return;
    const entries = await list(join(this.#directory, path));
    // Markdown files beside a skill belong to that skill.
    if (entries.some(({ name }) => SKILL_FILES.has(name))) return;
    for (const below of entries) await this.take(below, path, level + 1);
  }

  async #read(path: string): Promise<void> {
    try {
      await using file = await open(join(this.#directory, path));
      const { size } = await file.stat();
      const isTooMuch =
        this.files.length >= LIMITS.files ||
        size > LIMITS.fileBytes ||
        this.sizeBytes + size > LIMITS.bytes;
      if (isTooMuch) return void this.leftOut.push(`${path}: ${size} bytes are too many`);
      const bytes = await file.readFile();
      this.sizeBytes += bytes.length;
      this.files.push(sent(path, bytes));
    } catch (error) {
      const code = error instanceof Error && "code" in error ? String(error.code) : "unknown error";
      this.leftOut.push(`${path}: cannot be read: ${code}`);
    }
  }
}

/** Sent as text where the same bytes come out again; a byte order mark would be lost on the way. */
function sent(path: string, bytes: Buffer): SentFile {
  const isPlain = isUtf8(bytes) && bytes[0] !== 0xef;
  return isPlain ? { path, text: bytes.toString() } : { path, base64: bytes.toString("base64") };
}

/** A directory that cannot be read has nothing to send. */
async function list(
  directory: string,
  onUnreadable: (code: string) => void = () => {},
): Promise<Dirent[]> {
  const entries = await readdir(directory, { withFileTypes: true }).catch((error: unknown) => {
    onUnreadable(error instanceof Error && "code" in error ? String(error.code) : "unknown error");
    return [];
  });
  return entries.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

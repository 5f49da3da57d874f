import { open, stat } from "node:fs/promises";
import { basename, dirname, resolve } from "node:path";
import { client } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/connect";
import {
  unpackSkills,
  type ImportCounts,
  type ImportedSkill,
} from "@switchyard/contracts/skill-store";
import { SkillTarget, type Diagnostic } from "@switchyard/contracts/skills";
import { readGitOrigin } from "@switchyard/service/git-origin";
import { CliError } from "../cli-error.ts";
import { findBus, withBus } from "../bus-session.ts";
import { printableLine } from "../printable.ts";
import { localSkills } from "../skills/local-skills.ts";
import { findingLines, scanLines } from "../skills/scan-lines.ts";
import { sendSkills } from "../skills/send-skills.ts";
import { writeJsonLine, type Terminal } from "../terminal.ts";

interface Options {
  readonly json?: true;
  readonly dryRun?: true;
}

interface Source {
  /** What to look at: a directory, a zip, a tar, a tar.gz, or `-` for one of these archives on stdin. */
  readonly path: string;
  readonly dryRun: boolean;
  readonly targets: readonly SkillTarget[];
  readonly withReports: boolean;
}

const MAX_ARCHIVE_BYTES = 40 * 1024 * 1024;
const PROGRESS_EVERY = 1_000;
const MAX_REMARKS = 50;

/** Sends skills of this machine to the importer. Fails, when all are sent, if one was skipped. */
export async function importSkills(
  terminal: Terminal,
  path: string,
  options: Options,
): Promise<void> {
  const dryRun = options.dryRun === true;
  const counts = await run(
    terminal,
    { path, dryRun, targets: [], withReports: true },
    { json: options.json === true, show: (skill) => importLines(skill) },
  );
  finish(terminal, counts, { json: options.json === true, dryRun });
}

/**
 * Judges what skills of this machine could do, without importing them. Fails when one is blocked, and
 * only then for one that was skipped: a block is what the command is there to find.
 */
export async function scanSkills(
  terminal: Terminal,
  path: string,
  options: { json?: true },
): Promise<void> {
  let blocked = 0;
  const json = options.json === true;
  const counts = await run(
    terminal,
    { path, dryRun: true, targets: [], withReports: true },
    {
      json,
      show(skill) {
        if (skill.scan?.verdict === "blocked") blocked += 1;
        const { name, file, scan } = skill;
        return scan === undefined ? importLines(skill) : scanLines(name ?? file, scan);
      },
    },
  );
  if (!json) terminal.note(countsText(counts, true));
  if (blocked > 0) {
    throw new CliError("skills_blocked", `${blocked} of ${counts.found} skills are blocked`, {
      hint: "look at the findings above; after an import: yard skills trust <name>",
    });
  }
  requireAll(counts);
}

/** Holds skills of this machine against the rules of other clients. Fails when one breaks them. */
export async function validateSkills(
  terminal: Terminal,
  path: string,
  options: { target?: string; json?: true },
): Promise<void> {
  const targets =
    options.target === undefined ? SkillTarget.options : [targetNamed(options.target)];
  let broken = 0;
  const json = options.json === true;
  const counts = await run(
    terminal,
    { path, dryRun: true, targets, withReports: false },
    {
      json,
      show(skill) {
        const verdicts = skill.conformance ?? [];
        const isWrong = verdicts.some(({ conforms }) => !conforms);
        // Without a target the verdicts inform; no file can keep the rules of all.
        if (options.target !== undefined && isWrong) broken += 1;
        return validateLines(skill, options.target !== undefined);
      },
    },
  );
  finish(terminal, counts, { json, dryRun: true });
  if (broken > 0) {
    throw new CliError(
      "skills_do_not_conform",
      `${broken} of ${counts.found} skills break the rules of ${targets.join(", ")}`,
      { hint: "fix the files that are named above" },
    );
  }
}

async function run(
  terminal: Terminal,
  source: Source,
  { json, show }: { json: boolean; show: (skill: ImportedSkill) => readonly string[] },
): Promise<ImportCounts> {
  let done = 0;
  const onSkill = (skill: ImportedSkill) => {
    const lines = show(skill);
    done += 1;
    if (json) writeJsonLine(terminal, { schemaVersion: 1, type: "skill", ...skill });
    else for (const line of lines) terminal.out(printableLine(line));
    if (done % PROGRESS_EVERY === 0) terminal.note(`${done} skills`);
  };
  const counts = await withBus(await findBus(process.env), (bus) => send(bus, source, onSkill));
  for (const diagnostic of counts.diagnostics) terminal.note(diagnosticText(diagnostic));
  if (json) writeJsonLine(terminal, { schemaVersion: 1, type: "summary", counts: counts.counts });
  return counts.counts;
}

async function send(
  bus: Bus,
  source: Source,
  onSkill: (skill: ImportedSkill) => void,
): Promise<{ counts: ImportCounts; diagnostics: readonly Diagnostic[] }> {
  const { path, dryRun, targets, withReports } = source;
  const directory = path === "-" ? null : resolve(path);
  if (directory !== null && (await isDirectory(directory))) {
    const git = await readGitOrigin(directory, "/");
    const options = { label: directory, git, dryRun, targets, withReports, onSkill };
    const diagnostics: Diagnostic[] = [];
    const skills = localSkills(directory, (file, message) => {
      if (diagnostics.length < MAX_REMARKS) diagnostics.push(notLookedAt(file, message));
    });
    return { counts: await sendSkills(bus, skills, options), diagnostics };
  }
  if (directory !== null && /^skills?\.md$/i.test(basename(directory))) {
    throw new CliError("usage", `${path} is one file of a skill`, {
      hint: `name its directory: ${dirname(path)}`,
    });
  }
  const bytes = await (directory === null ? readStandardInput() : readArchive(directory));
  const label = directory === null ? "standard input" : basename(directory);
  const reply = await client(bus, { unpackSkills }).unpackSkills({
    label,
    dryRun,
    targets: [...targets],
    withReports,
    format: formatOf(bytes, label),
    base64: bytes.toString("base64"),
  });
  for (const skill of reply.skills) onSkill(skill);
  return reply;
}

function notLookedAt(file: string, message: string): Diagnostic {
  return { severity: "warning", code: "not_looked_at", message, file, line: null, column: null };
}

function finish(
  terminal: Terminal,
  counts: ImportCounts,
  { json, dryRun }: { json: boolean; dryRun: boolean },
): void {
  if (!json) terminal.note(countsText(counts, dryRun));
  requireAll(counts);
}

/** Fails when there was no skill, or when one was skipped. */
function requireAll(counts: ImportCounts): void {
  if (counts.found === 0) {
    throw new CliError("no_skill_found", "there is no skill in it", {
      hint: "a skill is a directory with a SKILL.md",
    });
  }
  if (counts.skipped > 0) {
    const { skipped, found } = counts;
    throw new CliError("skills_skipped", `${skipped} of ${found} skills were skipped`, {
      hint: "fix the files that are named above",
    });
  }
}

function countsText(counts: ImportCounts, dryRun: boolean): string {
  const { found, loaded, repaired, skipped, withheld, reasons } = counts;
  const why = Object.entries(reasons)
    .toSorted(([, a], [, b]) => b - a)
    .map(([code, many]) => `${many} ${code}`);
  return [
    `${found} found, ${loaded} ${dryRun ? "would load" : "loaded"} (${repaired} of them repaired)`,
    `${skipped} skipped${why.length === 0 ? "" : `: ${why.join(", ")}`}`,
    ...(withheld === 0 ? [] : [`${withheld} withheld, see: yard skills withheld`]),
  ].join("; ");
}

function importLines(skill: ImportedSkill): string[] {
  const { name, file, outcome, change, withheld } = skill;
  const worth = skill.diagnostics.filter(({ severity }) => severity !== "info");
  const state = withheld === null ? (change ?? outcome) : `withheld: ${withheld}`;
  return [
    `${outcome === "skipped" ? "skipped" : state}  ${name ?? file}`,
    ...worth.map((diagnostic) => `  ${diagnosticText(diagnostic)}`),
    ...(skill.scan === undefined ? [] : findingLines(skill.scan)),
    ...skill.dependencyWarnings.map((warning) => `  warning: ${warning}`),
  ];
}

function validateLines(skill: ImportedSkill, withProblems: boolean): string[] {
  const verdicts = skill.conformance ?? [];
  const lines = verdicts.map(
    ({ target, conforms, problems }) => `  ${target}: ${conforms ? "yes" : problems.length}`,
  );
  const problems = verdicts.flatMap((verdict) => verdict.problems);
  return [
    ...importLines(skill),
    ...lines,
    ...(withProblems
      ? problems.map(({ line, message }) => `  ${line === null ? "" : `line ${line}: `}${message}`)
      : []),
  ];
}

function diagnosticText({ severity, code, message, file, line }: Diagnostic): string {
  return printableLine(
    `${severity}: ${line === null ? file : `${file}:${line}`}: ${message} (${code})`,
  );
}

function targetNamed(name: string): SkillTarget {
  const target = SkillTarget.safeParse(name);
  if (target.success) return target.data;
  throw new CliError("usage", `there is no target ${name}`, {
    hint: `one of: ${SkillTarget.options.join(", ")}`,
  });
}

async function isDirectory(path: string): Promise<boolean> {
  const facts = await stat(path).catch(() => null);
  if (facts !== null) return facts.isDirectory();
  throw new CliError("directory_missing", `there is no ${path}`, {
    hint: "name a directory, a zip or a tar.gz, or - for standard input",
  });
}

export async function readArchive(path: string): Promise<Buffer> {
  await using file = await open(path);
  const { size } = await file.stat();
  if (size > MAX_ARCHIVE_BYTES) throw tooLarge();
  return file.readFile();
}

export async function readStandardInput(): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_ARCHIVE_BYTES) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** By its first bytes; a name says less. `label` is what an error calls it. */
export function formatOf(bytes: Buffer, label: string): "zip" | "tar.gz" | "tar" {
  if (bytes.subarray(0, 2).toString("latin1") === "PK") return "zip";
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) return "tar.gz";
  if (isTar(bytes)) return "tar";
  throw new CliError("usage", `${label} is not a zip, tar or tar.gz file`, {
    hint: "pack it as one of these, or name a directory",
  });
}

/** A tar's first header, or the zeros of an empty one, holds the sum of its own bytes, its place for that read as blanks. */
function isTar(bytes: Buffer): boolean {
  if (bytes.length < 512) return false;
  const header = Buffer.from(bytes.subarray(0, 512));
  const told = Number.parseInt(header.toString("latin1", 148, 156).replaceAll(/[\0 ]/g, ""), 8);
  header.fill(" ", 148, 156);
  const sum = header.reduce((total, byte) => total + byte, 0);
  return told === sum || header.subarray(0, 148).every((byte) => byte === 0);
}

function tooLarge(): CliError {
  return new CliError("usage", `an archive has at most ${MAX_ARCHIVE_BYTES / 1024 ** 2} MiB`, {
    hint: "unpack it and name the directory",
  });
}

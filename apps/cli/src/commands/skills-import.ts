import { stat } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, dirname, resolve } from "node:path";
import { call, client } from "@switchyard/bus/call";
import {
  unpackSkills,
  uploadSkills,
  type ImportCounts,
  type ImportedSkill,
} from "@switchyard/contracts/skill-importer/skill-store";
import { SkillTarget, type Diagnostic } from "@switchyard/contracts/skill-importer/skills";
import { readGitOrigin } from "@switchyard/service/git-origin";
import { CliError } from "../cli-error.ts";
import { findBus, withBus } from "../bus-session.ts";
import type { Person } from "../chat/decide.ts";
import { terminalPerson } from "../chat/terminal-person.ts";
import { printableLine } from "../printable.ts";
import { count } from "../quantities.ts";
import { formatOf, readArchive, readStandardInput } from "../skills/archive-bytes.ts";
import { skillFoldersOf, type SkillClient } from "../skills/client-folders.ts";
import { localSkills } from "../skills/local-skills.ts";
import { findingLines, scanLines } from "../skills/scan-lines.ts";
import { addCounts, noCounts, sendSkills, type SkillImporter } from "../skills/send-skills.ts";
import { writeJsonLine, type Terminal } from "../terminal.ts";

interface Options {
  readonly json?: true;
  readonly dryRun?: true;
  readonly yes?: true;
  /** Another client, whose folders are looked for. */
  readonly from?: SkillClient;
}

interface Source {
  /** The input: directories, or a zip, a tar, a tar.gz, or `-` for one of these archives on stdin. */
  readonly paths: readonly string[];
  readonly dryRun: boolean;
  readonly targets: readonly SkillTarget[];
  readonly withReports: boolean;
  /** True: judged in this process, without a running service. */
  readonly here?: true;
}

const PROGRESS_EVERY = 1_000;
const MAX_REMARKS = 50;

/**
 * Sends skills of this machine to the importer. Fails, when all are sent, if one was skipped. A person at a terminal confirms first
 * when the scanner finds something severe; without one the findings are shown, and the importer withholds what it blocks.
 */
export async function importSkills(
  terminal: Terminal,
  path: string | undefined,
  options: Options,
  person: Person | null = options.yes === true ? null : terminalPerson(),
): Promise<void> {
  const dryRun = options.dryRun === true;
  const json = options.json === true;
  const paths = await pathsOf(path, options.from);
  const source = { paths, dryRun, targets: [], withReports: true };
  // Standard input can be read only once.
  if (person !== null && !dryRun && !json && !paths.includes("-"))
    await askAboutFindings(terminal, source, person);
  const counts = await run(terminal, source, { json, show: (skill) => importLines(skill) });
  finish(terminal, counts, { json, dryRun });
}

async function pathsOf(path: string | undefined, from: SkillClient | undefined): Promise<string[]> {
  if (from !== undefined && path === undefined)
    return skillFoldersOf(from, { home: homedir(), cwd: process.cwd() });
  if (path !== undefined && from === undefined) return [path];
  throw new CliError("usage", "name one source: a path, or a client with --from", {
    hint: "such as: ./yard skills import my-skills, or: ./yard skills import --from openclaw",
  });
}

const SEVERE: ReadonlySet<string> = new Set(["high", "critical"]);

/** Judges the skills here first; throws `interrupted` when the person declines. */
async function askAboutFindings(terminal: Terminal, source: Source, person: Person): Promise<void> {
  const severe: ImportedSkill[] = [];
  const onSkill = (skill: ImportedSkill): void => {
    if (skill.scan?.findings.some(({ severity }) => SEVERE.has(severity)) === true)
      severe.push(skill);
  };
  const judged: Source = { ...source, dryRun: true, here: true };
  await withImporter(terminal, judged, (importer) => sendAll(importer, judged, onSkill));
  if (severe.length === 0) return;
  for (const { name, file, scan } of severe)
    for (const line of scan === undefined ? [] : scanLines(name ?? file, scan))
      terminal.note(printableLine(line));
  const question = `${count(severe.length, "skill")} with severe findings; import all the same? [y/N] `;
  const answer = await person.ask(question, new AbortController().signal);
  if (answer !== null && /^y(?:es)?$/i.test(answer.trim())) return;
  throw new CliError("interrupted", "nothing was imported", {
    hint: "leave out what is named above, or look at it with: ./yard skills scan",
  });
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
    { paths: [path], dryRun: true, targets: [], withReports: true, here: true },
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
    throw new CliError(
      "skills_blocked",
      `${blocked} of ${count(counts.found, "skill")} ${blocked === 1 ? "is" : "are"} blocked`,
      {
        hint: "look at the findings above; after an import: yard skills trust <name>",
      },
    );
  }
  requireAll(counts);
}

/** Checks skills of this machine against the rules of other clients. Fails when one breaks them. */
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
    { paths: [path], dryRun: true, targets, withReports: false, here: true },
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
      `${broken} of ${count(counts.found, "skill")} ${broken === 1 ? "breaks" : "break"} the rules of ${targets.join(", ")}`,
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
  const counts = await withImporter(terminal, source, (importer) =>
    sendAll(importer, source, onSkill),
  );
  for (const diagnostic of counts.diagnostics) terminal.note(diagnosticText(diagnostic));
  if (json) writeJsonLine(terminal, { schemaVersion: 1, type: "summary", counts: counts.counts });
  return counts.counts;
}

async function withImporter<T>(
  { env }: Terminal,
  { here }: Source,
  use: (importer: SkillImporter) => Promise<T>,
): Promise<T> {
  if (here) return (await import("../skills/importer-here.ts")).withImporterHere(env, use);
  return withBus(await findBus(env), (bus) =>
    use({
      ...client(bus, { uploadSkills }),
      unpackSkills: (request, archive) =>
        call(bus, unpackSkills, request, { attachment: [archive] }),
    }),
  );
}

/** One directory or archive after the other. */
async function sendAll(
  importer: SkillImporter,
  source: Source,
  onSkill: (skill: ImportedSkill) => void,
): Promise<{ counts: ImportCounts; diagnostics: readonly Diagnostic[] }> {
  const total = noCounts();
  const diagnostics: Diagnostic[] = [];
  for (const path of source.paths) {
    const sent = await send(importer, { ...source, path }, onSkill);
    addCounts(total, sent.counts);
    diagnostics.push(...sent.diagnostics);
  }
  return { counts: total, diagnostics };
}

async function send(
  importer: SkillImporter,
  source: Omit<Source, "paths"> & { readonly path: string },
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
    return { counts: await sendSkills(importer, skills, options), diagnostics };
  }
  if (directory !== null && /^skills?\.md$/i.test(basename(directory))) {
    throw new CliError("usage", `${path} is one file of a skill`, {
      hint: `name its directory: ${dirname(path)}`,
    });
  }
  const bytes = await (directory === null ? readStandardInput() : readArchive(directory));
  const label = directory === null ? "standard input" : basename(directory);
  const format = formatOf(bytes, label);
  const sent = { label, dryRun, targets: [...targets], withReports, format };
  const reply = await importer.unpackSkills(sent, bytes);
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
    throw new CliError(
      "skills_skipped",
      `${skipped} of ${count(found, "skill")} ${skipped === 1 ? "was" : "were"} skipped`,
      {
        hint: "fix the files that are named above",
      },
    );
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

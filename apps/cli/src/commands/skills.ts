import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { client } from "@switchyard/bus/call";
import { isError } from "@switchyard/contracts/errors";
import {
  checkSkills,
  renderSkill,
  SkillTarget,
  type CheckedSkill,
  type Conformance,
  type Diagnostic,
} from "@switchyard/contracts/skill-importer/skills";
import { CliError } from "../cli-error.ts";
import { findBus, withBus } from "../bus-session.ts";
import { printable, printableLine } from "../printable.ts";
import { tableLines } from "../table.ts";
import { shellWord } from "../shell-word.ts";
import { writeJson, type Terminal } from "../terminal.ts";

/** The importer's refusal of a directory outside its roots has no details; a mistyped one is the likelier reason. */
async function explainDirectory(directory: string, error: unknown): Promise<never> {
  if (!isError(error, checkSkills, "directory_not_allowed")) throw error;
  if ((await stat(directory).catch(() => null)) !== null) throw error;
  throw new CliError("directory_missing", `there is no directory ${directory} here`, {
    hint: "name one that the importer can read; where it runs elsewhere, by the path that it has there",
    cause: error,
  });
}

/** Judges the skill files below a directory without importing them; fails when one does not load. */
export async function check(
  terminal: Terminal,
  directory: string,
  options: { target?: string; json?: true },
): Promise<void> {
  const targets = options.target === undefined ? undefined : [targetNamed(options.target)];
  const { files, diagnostics } = await withBus(await findBus(terminal.env), async (bus) => {
    const { checkSkills: page } = client(bus, { checkSkills });
    const request = { directory: resolve(directory), targets };
    let reply = await page(request).catch((error: unknown) => explainDirectory(directory, error));
    const all = [...reply.files];
    while (reply.nextOffset !== null) {
      reply = await page({ ...request, offset: reply.nextOffset });
      all.push(...reply.files);
    }
    return { files: all, diagnostics: reply.diagnostics };
  });
  const counts = {
    found: files.length,
    loaded: files.filter(({ loads }) => loads).length,
    skipped: files.filter(({ loads }) => !loads).length,
    repaired: files.filter(({ repaired }) => repaired).length,
  };
  if (options.json) writeJson(terminal, { counts, files, diagnostics });
  else printChecked(terminal, { files, diagnostics, shown: targets ?? SkillTarget.options });
  if (counts.skipped === 0) {
    if (!options.json) terminal.note(countsText(counts));
    return;
  }
  throw new CliError("skills_do_not_load", countsText(counts), {
    hint: "fix the files that are named above",
  });
}

function printChecked(
  terminal: Terminal,
  {
    files,
    diagnostics,
    shown,
  }: {
    files: readonly CheckedSkill[];
    diagnostics: readonly Diagnostic[];
    shown: readonly SkillTarget[];
  },
): void {
  const lines = tableLines(
    [
      { title: "FILE", value: (file) => printableLine(file.file), maxWidth: 50 },
      { title: "LOADS", value: loadsText },
      ...shown.map((target) => ({
        title: target.toUpperCase(),
        value: ({ conformance }: CheckedSkill) => verdictText(conformance, target),
      })),
    ],
    files,
  );
  if (files.length > 0) for (const line of lines) terminal.out(line);
  for (const diagnostic of diagnostics) terminal.note(diagnosticText(diagnostic));
  for (const file of files) {
    for (const diagnostic of file.diagnostics) {
      terminal.note(diagnosticText(diagnostic));
      const { patch } = diagnostic;
      for (const line of patch?.before.split("\n") ?? [])
        terminal.note(`  - ${printableLine(line)}`);
      if (patch !== undefined) terminal.note(`  + ${printableLine(patch.after)}`);
    }
    // With all targets the messages would mostly repeat each other; the table has their count.
    if (shown.length > 1) continue;
    for (const { message, line } of file.conformance.flatMap(({ problems }) => problems)) {
      terminal.note(
        printableLine(`${line === null ? file.file : `${file.file}:${line}`}: ${message}`),
      );
    }
  }
}

function loadsText({ loads, repaired, needsReview }: CheckedSkill): string {
  if (!loads) return "no";
  if (needsReview) return "review";
  return repaired ? "repaired" : "yes";
}

function verdictText(conformance: readonly Conformance[], target: SkillTarget): string {
  const verdict = conformance.find((one) => one.target === target);
  if (verdict === undefined) return "unread";
  const count = verdict.problems.length;
  return verdict.conforms ? "yes" : `${count} problem${count === 1 ? "" : "s"}`;
}

function countsText(counts: Record<"found" | "loaded" | "skipped" | "repaired", number>): string {
  const { found, loaded, skipped, repaired } = counts;
  return `${found} skill files: ${loaded} load, ${repaired} of them repaired; ${skipped} do not`;
}

function targetNamed(name: string): SkillTarget {
  const target = SkillTarget.safeParse(name);
  if (target.success) return target.data;
  throw new CliError("usage", `there is no target ${name}`, {
    hint: `one of: ${SkillTarget.options.join(", ")}`,
  });
}

/** The text that an agent gets when the skill is activated with these arguments. */
export async function render(
  terminal: Terminal,
  name: string,
  { words, json }: { words: readonly string[]; json?: true },
): Promise<void> {
  const rendered = await withBus(await findBus(terminal.env), (bus) =>
    // The shell took the quotes away; the importer splits the line again and must find the same words.
    client(bus, { renderSkill }).renderSkill({ name, arguments: words.map(shellWord).join(" ") }),
  );
  if (json) return writeJson(terminal, rendered);
  for (const warning of rendered.warnings) {
    terminal.note(`${terminal.paintNote("yellow", "warning:")} ${printableLine(warning)}`);
  }
  terminal.out(printable(rendered.text));
}

/** A finding as one line, with its position. */
export function diagnosticText({ severity, message, file, line }: Diagnostic): string {
  const place = line === null ? file : `${file}:${line}`;
  return printableLine(`${severity}: ${place}: ${message}`);
}

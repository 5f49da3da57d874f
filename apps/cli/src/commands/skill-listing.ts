import { isUtf8 } from "node:buffer";
import { client } from "@switchyard/bus/call";
import { DEFAULT_VERSION } from "@switchyard/contracts/skill-importer/skill-catalogue";
import { readSkillFile } from "@switchyard/contracts/skill-importer/skill-store";
import {
  getSkill,
  listSkills,
  type Conformance,
  type Skill,
  type SkillDependencies,
  type SkillScope,
} from "@switchyard/contracts/skill-importer/skills";
import { CliError } from "../cli-error.ts";
import { findBus, withBus } from "../bus-session.ts";
import { fieldLines } from "../field-lines.ts";
import { printable, printableLine } from "../printable.ts";
import { tableLines } from "../table.ts";
import { writeJson, type Terminal } from "../terminal.ts";
import { count } from "../quantities.ts";
import { diagnosticText } from "./skills.ts";

const DESCRIPTION_WIDTH = 70;

/** The listed skills, of one scope or of all. */
export async function list(
  terminal: Terminal,
  options: { json?: true; scope: SkillScope | "all" },
): Promise<void> {
  const { scope } = options;
  const { skills: all } = await withBus(await findBus(terminal.env), (bus) =>
    client(bus, { listSkills }).listSkills({}),
  );
  const skills = scope === "all" ? all : all.filter((skill) => skill.scope === scope);
  if (options.json) return writeJson(terminal, { skills });
  if (skills.length === 0) {
    terminal.note(scope === "all" ? "no skill is imported" : `no skill has scope ${scope}`);
    if (scope === "all")
      terminal.note("make one: a folder in skills/ with a SKILL.md; see: ./yard help skills");
    return;
  }
  const lines = tableLines(
    [
      { title: "NAME", value: ({ name }) => name },
      {
        title: "DESCRIPTION",
        value: ({ description }) => printableLine(description),
        maxWidth: DESCRIPTION_WIDTH,
      },
      { title: "SCOPE", value: (skill) => skill.scope ?? "" },
      { title: "FORMAT", value: formatOf },
    ],
    skills,
  );
  for (const line of lines) terminal.out(line);
}

/** One skill with its text, or a file of it. */
export async function show(
  terminal: Terminal,
  name: string,
  options: { json?: true; version?: string; file?: string },
): Promise<void> {
  const { version, file } = options;
  if (file !== undefined) return showFile(terminal, { ...options, name, path: file });
  const found = await withBus(await findBus(terminal.env), (bus) =>
    client(bus, { getSkill }).getSkill({ name, digest: version }),
  );
  if (options.json) return writeJson(terminal, found);
  const { skill, variables = [], conformance = [], dependencies } = found;
  const fields = fieldLines([
    ["skill", skill.name],
    ["description", skill.description],
    ["version", skill.record?.version ?? `${DEFAULT_VERSION} (default)`],
    ["format", formatOf(skill)],
    ["scope", skill.scope === undefined ? skill.path : `${skill.scope} (${skill.path})`],
    ["variables", [...new Set([...skill.arguments, ...variables])].join(", ") || "none"],
    ["argument hint", skill.argumentHint ?? "none"],
    ["user invocable", yesOrNo(skill.userInvocable)],
    ["model invocable", yesOrNo(skill.modelInvocable)],
    ["context", contextText(skill)],
    ["allowed tools", allowedText(skill.allowedTools)],
    ["disallowed tools", skill.record?.disallowedTools.join(", ") ?? ""],
    ["stored as", skill.version ?? ""],
    ["digest", skill.digest],
    ["repaired", skill.needsReview ? "yes, needs a review" : skill.repaired ? "yes" : ""],
    ["conforms to", conformance.filter(conforms).map(targetOf).join(", ")],
    ["needs", dependencies ? needsText(dependencies) : ""],
  ]);
  for (const line of fields) terminal.out(line);
  for (const warning of dependencies?.warnings ?? []) terminal.note(printableLine(warning));
  for (const diagnostic of skill.diagnostics) terminal.note(diagnosticText(diagnostic));
  terminal.out(`\n${printable(skill.body)}`);
}

/** A person reviews it before trusting a version: a script does more than the text states. */
async function showFile(
  terminal: Terminal,
  wanted: { name: string; path: string; version?: string; json?: true },
): Promise<void> {
  const { name, path, version } = wanted;
  const parts: Buffer[] = [];
  const facts = await withBus(await findBus(terminal.env), async (bus) => {
    const files = client(bus, { readSkillFile });
    for (let offset = 0; ;) {
      const part = await files.readSkillFile({ name, path, version, offset });
      parts.push(Buffer.from(part.base64, "base64"));
      if (part.nextOffset === null) return part;
      offset = part.nextOffset;
    }
  });
  const bytes = Buffer.concat(parts);
  if (wanted.json) {
    const { base64: _, nextOffset: __, ...about } = facts;
    return writeJson(terminal, { ...about, base64: bytes.toString("base64") });
  }
  if (!isUtf8(bytes) || bytes.includes(0)) {
    throw new CliError(
      "binary_file",
      `${path} has ${count(bytes.length, "byte")} and is not text`,
      {
        hint: "get its bytes with --json",
      },
    );
  }
  terminal.out(printable(bytes.toString()));
}

function formatOf({ format }: Pick<Skill, "format">): string {
  return format ?? "SKILL.md";
}

function contextText({ record }: Skill): string {
  if (record?.context !== "fork") return "inline";
  return record.agent === null ? "fork" : `fork, as the agent ${record.agent}`;
}

function allowedText(tools: readonly string[] | null): string {
  if (tools === null) return "no restriction";
  return tools.join(", ") || "none";
}

function yesOrNo(flag: boolean): string {
  return flag ? "yes" : "no";
}

function conforms(verdict: Conformance): boolean {
  return verdict.conforms;
}

function targetOf(verdict: Conformance): string {
  return verdict.target;
}

function needsText({ checks }: SkillDependencies): string {
  return checks
    .map(({ kind, name, status }) => `${kind} ${printableLine(name)} (${status.replace("_", " ")})`)
    .join(", ");
}

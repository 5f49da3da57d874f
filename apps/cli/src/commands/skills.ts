import { client } from "@switchyard/bus/call";
import { getSkill, listSkills, renderSkill, type Diagnostic } from "@switchyard/contracts/skills";
import { findBus, withBus } from "../bus-session.ts";
import { fieldLines } from "../field-lines.ts";
import { printable, printableLine } from "../printable.ts";
import { tableLines } from "../table.ts";
import { writeJson, type Terminal } from "../terminal.ts";

const DESCRIPTION_WIDTH = 70;

export async function list(terminal: Terminal, options: { json?: true }): Promise<void> {
  const { skills } = await withBus(await findBus(process.env), (bus) =>
    client(bus, { listSkills }).listSkills({}),
  );
  if (options.json) return writeJson(terminal, { skills });
  if (skills.length === 0) return terminal.note("no skill is imported");
  const lines = tableLines(
    [
      { title: "SKILL", value: (skill) => skill.name },
      { title: "PATH", value: (skill) => printableLine(skill.path), maxWidth: 40 },
      { title: "MODEL", value: (skill) => (skill.modelInvocable ? "yes" : "no") },
      { title: "USER", value: (skill) => (skill.userInvocable ? "yes" : "no") },
      {
        title: "DESCRIPTION",
        value: (skill) => printableLine(skill.description),
        maxWidth: DESCRIPTION_WIDTH,
      },
    ],
    skills,
  );
  for (const line of lines) terminal.out(line);
}

export async function show(
  terminal: Terminal,
  name: string,
  options: { json?: true },
): Promise<void> {
  const { skill } = await withBus(await findBus(process.env), (bus) =>
    client(bus, { getSkill }).getSkill({ name }),
  );
  if (options.json) return writeJson(terminal, { skill });
  const fields = fieldLines([
    ["skill", skill.name],
    ["description", skill.description],
    ["path", skill.path],
    ["digest", skill.digest],
    [
      "invoked by",
      [
        ...(skill.modelInvocable ? ["models"] : []),
        ...(skill.userInvocable ? ["people"] : []),
      ].join(", "),
    ],
    ["arguments", skill.arguments.join(", ")],
    ["argument hint", skill.argumentHint ?? ""],
    [
      "allowed tools",
      skill.allowedTools === null ? "no restriction" : skill.allowedTools.join(", "),
    ],
  ]);
  for (const line of fields) terminal.out(line);
  for (const diagnostic of skill.diagnostics) terminal.note(diagnosticText(diagnostic));
  terminal.out(`\n${printable(skill.body)}`);
}

/** The text that an agent gets when the skill is activated with these arguments. */
export async function render(
  terminal: Terminal,
  name: string,
  { words, json }: { words: readonly string[]; json?: true },
): Promise<void> {
  const rendered = await withBus(await findBus(process.env), (bus) =>
    client(bus, { renderSkill }).renderSkill({ name, arguments: words.map(quoted).join(" ") }),
  );
  if (json) return writeJson(terminal, rendered);
  for (const warning of rendered.warnings) {
    terminal.note(`${terminal.paintNote("yellow", "warning:")} ${printableLine(warning)}`);
  }
  terminal.out(printable(rendered.text));
}

/** The shell took the quotes away; the importer splits the line again and must find the same words. */
export function quoted(word: string): string {
  return /^[\w./:@%+=,-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

function diagnosticText({ severity, message, file, line }: Diagnostic): string {
  const place = line === null ? file : `${file}:${line}`;
  return printableLine(`${severity}: ${place}: ${message}`);
}

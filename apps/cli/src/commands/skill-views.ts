import { client } from "@switchyard/bus/call";
import {
  matchSkills,
  skillCatalogue,
  skillManifests,
  type RegisteredSkill,
  type SkillCatalogue,
} from "@switchyard/contracts/skill-importer/skill-catalogue";
import { findBus, withBus } from "../bus-session.ts";
import type { ExitCode } from "../exit-codes.ts";
import { fieldLines } from "../field-lines.ts";
import { printableLine } from "../printable.ts";
import { count } from "../quantities.ts";
import { tableLines } from "../table.ts";
import { shellWord } from "../shell-word.ts";
import { writeJson, type Terminal } from "../terminal.ts";
import { run } from "./run.ts";

const DESCRIPTION_WIDTH = 70;

/** Shows the tokens that the list of skills costs a model, and what of it is cut. */
export async function budget(
  terminal: Terminal,
  options: { json?: true; window?: number },
): Promise<void> {
  const { window } = options;
  const catalogue = await withBus(await findBus(terminal.env), (bus) =>
    client(bus, { skillCatalogue }).skillCatalogue(
      window === undefined ? {} : { contextWindow: window },
    ),
  );
  if (options.json) return writeJson(terminal, catalogue);
  for (const line of budgetLines(catalogue)) terminal.out(line);
  const { dropped, wholeTokens, budgetTokens, tokens } = catalogue;
  const shortened = catalogue.listed.filter((skill) => skill.shortened).length;
  terminal.note(
    `about ${tokens} of ${budgetTokens} tokens; whole it would be ${wholeTokens}` +
      (shortened === 0 ? "" : `; ${count(shortened, "description")} cut`) +
      (dropped.length === 0 ? "" : `; not listed: ${dropped.join(", ")}`),
  );
}

/** The skills that fit a text, the best first. */
export async function match(
  terminal: Terminal,
  words: readonly string[],
  options: { json?: true; limit: number },
): Promise<void> {
  const found = await withBus(await findBus(terminal.env), (bus) =>
    client(bus, { matchSkills }).matchSkills({ text: words.join(" "), limit: options.limit }),
  );
  if (options.json) return writeJson(terminal, found);
  if (found.matches.length === 0) {
    return terminal.note(`none of ${count(found.searched, "skill")} fits`);
  }
  const lines = tableLines(
    [
      { title: "SCORE", value: ({ score }) => score.toFixed(2), align: "right" },
      { title: "SKILL", value: ({ name }) => name },
      { title: "BY", value: ({ terms }) => printableLine(terms.join(" ")), maxWidth: 30 },
      {
        title: "DESCRIPTION",
        value: ({ description }) => printableLine(description),
        maxWidth: DESCRIPTION_WIDTH,
      },
    ],
    found.matches,
  );
  for (const line of lines) terminal.out(line);
}

/** Skills as a plugin registry shows them: one with all its fields, or a table of all. */
export async function manifest(
  terminal: Terminal,
  name: string | undefined,
  options: { json?: true },
): Promise<void> {
  const skills = await withBus(await findBus(terminal.env), async (bus) => {
    const { skillManifests: page } = client(bus, { skillManifests });
    const request = name === undefined ? {} : { name };
    let reply = await page(request);
    const all = [...reply.skills];
    while (reply.nextOffset !== null) {
      reply = await page({ ...request, offset: reply.nextOffset });
      all.push(...reply.skills);
    }
    return all;
  });
  if (options.json) return writeJson(terminal, { skills });
  const [only] = skills;
  const isOne = name !== undefined && only !== undefined;
  const lines = isOne ? manifestLines(only) : manifestTable(skills);
  for (const line of lines) terminal.out(line);
  for (const { warnings } of skills) {
    for (const warning of warnings) terminal.note(printableLine(warning));
  }
}

/** Runs an agent with a skill as its task: one question, one answer. */
export async function runSkill(
  terminal: Terminal,
  name: string,
  options: {
    words: readonly string[];
    agent: string;
    model?: string;
    waitFor?: number;
    json?: true;
    wait: boolean;
  },
): Promise<ExitCode> {
  const { words, agent, ...how } = options;
  // A run's input is never empty; a space is not an argument.
  const line = words.map(shellWord).join(" ") || " ";
  return run(terminal, agent, line, { ...how, skill: name, label: {} });
}

function budgetLines({ listed }: SkillCatalogue): string[] {
  if (listed.length === 0) return [];
  return tableLines(
    [
      { title: "SKILL", value: ({ name }) => name },
      { title: "TOKENS", value: ({ tokens }) => String(tokens), align: "right" },
      { title: "DESCRIPTION", value: ({ shortened }) => (shortened ? "cut" : "whole") },
    ],
    listed,
  );
}

function manifestTable(skills: readonly RegisteredSkill[]): string[] {
  return tableLines(
    [
      { title: "ID", value: ({ manifest: { id } }) => id },
      { title: "COMMAND", value: commandText },
      {
        title: "TOOL",
        value: ({ manifest: { tools } }) =>
          printableLine(tools.map((tool) => tool.name).join(", ")),
        maxWidth: 30,
      },
      { title: "NEEDS", value: ({ dependenciesMet }) => (dependenciesMet ? "met" : "missing") },
      {
        title: "DESCRIPTION",
        value: ({ manifest: { description } }) => printableLine(description),
        maxWidth: DESCRIPTION_WIDTH,
      },
    ],
    skills,
  );
}

function manifestLines(skill: RegisteredSkill): string[] {
  const { manifest: shown, registration, dependenciesMet, sourcePath } = skill;
  return fieldLines([
    ["id", shown.id],
    ["name", shown.name],
    ["version", shown.version],
    ["author", printableLine(shown.author ?? "(none given)")],
    ["description", printableLine(shown.description)],
    ["category", shown.category],
    ["source", shown.source],
    ["registered", `${registration.source} by ${registration.installer}`],
    ["command", commandText(skill)],
    [
      "tools",
      shown.tools
        .map(({ name, description }) => printableLine(`${name} (${description})`))
        .join(", "),
    ],
    ["keywords", printableLine(shown.keywords.join(", "))],
    ["path", printableLine(sourcePath)],
    ["needs", dependenciesMet ? "met" : "missing"],
  ]);
}

function commandText({ command: { name, argumentHint, available } }: RegisteredSkill): string {
  if (!available) return "none";
  return argumentHint === null ? name : printableLine(`${name} ${argumentHint}`);
}

import { client } from "@switchyard/bus/call";
import { listAgents, type AgentSummary } from "@switchyard/contracts/skill-importer/agents";
import { getSession, patchSession } from "@switchyard/contracts/agent-runner/sessions";
import { listSkills } from "@switchyard/contracts/skill-importer/skills";
import { readTypedLine, SESSION_COMMANDS, type TypedLine } from "@switchyard/contracts/typed-line";
import { findBus, withBus } from "../bus-session.ts";
import { CliError } from "../cli-error.ts";
import { fieldLines } from "../field-lines.ts";
import { modelLabel } from "../model-label.ts";
import { writeJson, type Terminal } from "../terminal.ts";
import { ownerOf, type OwnerOption } from "./sessions.ts";

/** A message to send to a session. */
export interface SaidLine {
  readonly message: string;
  readonly skill?: string;
}

/**
 * Executes a line that begins with a slash; other lines, and those for a skill, are returned as messages. Commands executed here
 * never reach a model.
 */
export async function answerLine(
  terminal: Terminal,
  { session, line }: { session: string; line: string },
  options: OwnerOption,
): Promise<SaidLine | null> {
  if (!line.startsWith("/")) return { message: line };
  const { skills, agents } = await withBus(await findBus(terminal.env), async (bus) => {
    const importer = client(bus, { listSkills, listAgents });
    const [known, { agents: all }] = await Promise.all([
      importer.listSkills({}),
      importer.listAgents({}),
    ]);
    return { skills: known.skills, agents: all };
  });
  const typed = readTypedLine(line, { skills, agents });
  switch (typed.kind) {
    case "text":
      return { message: typed.text };
    case "skill":
      terminal.note(`[Invoking skill: ${typed.skill}]`);
      // A message has at least one character; blanks are not an argument.
      return { message: typed.arguments === "" ? " " : typed.arguments, skill: typed.skill };
    case "skill-switch":
      await switchSkill(terminal, { session, ...typed }, options);
      return null;
    case "agent":
      await switchAgent(terminal, { session, agent: typed.agent, agents }, options);
      return null;
    case "help":
      help(terminal, typed.topic, options);
      return null;
    case "skills":
    case "agents":
      await look(terminal, typed, options);
      return null;
    case "other":
      throw elsewhere(typed.command, session);
    case "unknown":
      throw new CliError("usage", typed.message);
    default:
      return typed satisfies never;
  }
}

async function look(
  terminal: Terminal,
  typed: Extract<TypedLine, { kind: "skills" | "agents" }>,
  { json }: OwnerOption,
): Promise<void> {
  const how = json === undefined ? {} : { json };
  if (typed.kind === "agents") return (await import("./agents.ts")).list(terminal, how);
  const listing = await import("./skill-listing.ts");
  return typed.skill === null
    ? listing.list(terminal, { ...how, scope: "all" })
    : listing.show(terminal, typed.skill, how);
}

async function switchAgent(
  terminal: Terminal,
  to: { session: string; agent: string; agents: readonly AgentSummary[] },
  { owner, json }: OwnerOption,
): Promise<void> {
  const { session, agent } = to;
  const changed = await withBus(await findBus(terminal.env), (bus) =>
    client(bus, { patchSession }).patchSession({ session, ...ownerOf(owner), agent }),
  );
  if (json) return writeJson(terminal, changed);
  const model = to.agents.find(({ name }) => name === agent)?.model ?? null;
  const answering = changed.session.model ?? model;
  const label = answering === null ? "config default" : modelLabel(answering);
  terminal.out(`Switched to agent: ${agent} (${label})`);
}

async function switchSkill(
  terminal: Terminal,
  { session, skill, isOn }: { session: string; skill: string; isOn: boolean },
  { owner, json }: OwnerOption,
): Promise<void> {
  const changed = await withBus(await findBus(terminal.env), async (bus) => {
    const sessions = client(bus, { getSession, patchSession });
    const named = { session, ...ownerOf(owner) };
    const { skillsOff } = (await sessions.getSession(named)).session;
    const others = skillsOff.filter((name) => name !== skill);
    return sessions.patchSession({ ...named, skillsOff: isOn ? others : [...others, skill] });
  });
  if (json) return writeJson(terminal, changed);
  terminal.out(`Skill ${skill} is ${isOn ? "on" : "off"} in this session`);
}

function help(terminal: Terminal, topic: string | null, { json }: OwnerOption): void {
  const wanted = topic?.replace(/^\//, "").toLowerCase();
  const lines = SESSION_COMMANDS.filter(
    ([usage]) => wanted === undefined || usage.split(" ")[0] === `/${wanted}`,
  );
  if (lines.length === 0)
    throw new CliError("usage", `there is no help on ${JSON.stringify(topic)}`, {
      hint: "see the commands with /help, and the skills with /skills",
    });
  if (json)
    return writeJson(terminal, { commands: lines.map(([usage, meaning]) => ({ usage, meaning })) });
  for (const line of fieldLines(lines)) terminal.out(line);
}

type Other = Extract<TypedLine, { kind: "other" }>["command"];

/** Commands of a lasting conversation; here a command of `yard` replaces them. */
const ELSEWHERE: Partial<Record<Other, (session: string) => string>> = {
  clear: (session) => `sessions reset ${session}`,
  model: (session) => `sessions set ${session} --model <provider/model>`,
  session: (session) => `sessions show ${session}`,
  tools: () => "tools list",
};

function elsewhere(command: Other, session: string): CliError {
  const instead = ELSEWHERE[command]?.(session);
  return new CliError("usage", `/${command} is a command that means nothing here`, {
    hint: instead === undefined ? "see the commands with: /help" : `use: ./yard ${instead}`,
  });
}

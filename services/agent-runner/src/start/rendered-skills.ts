import type { AgentDefinition } from "@switchyard/contracts/skill-importer/agents";
import { isError } from "@switchyard/contracts/errors";
import type { Plan } from "@switchyard/contracts/agent-runner/plan";
import { inputText } from "@switchyard/contracts/agent-runner/input-text";
import type { RunInput } from "@switchyard/contracts/agent-runner/runs";
import { renderSkill } from "@switchyard/contracts/skill-importer/skills";
import type { RunCommand } from "../commands/run-command.ts";
import type { StartedEntry } from "../core/started-entry.ts";
import { narrowedLayers, narrowingOf } from "../core/tool-narrowing.ts";
import type { ServiceClients } from "../context/service-clients.ts";
import type { Log } from "@switchyard/service/log";

/** The skills whose text is in the prompt from the start, and their effects. */

export interface Rendered {
  readonly name: string;
  readonly digest: string;
  readonly text: string;
  readonly allowedTools: string[] | null;
  readonly disallowedTools?: string[] | undefined;
  readonly plan: Plan | null;
  /** Set when the skill dispatches to a tool: its arguments go there unchanged. */
  readonly dispatch?: NonNullable<StartedEntry["dispatch"]>;
}

/** The services that render skills, and the signal that ends the wait for them. */
interface Rendering {
  readonly clients: ServiceClients;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** Thrown when a command names a skill that is off in its session. */
export class SkillOff extends Error {
  override readonly name = "SkillOff";
  readonly skill: string;

  constructor(skill: string) {
    super(
      `the skill ${skill} is off in this session; switch it on with sessions.patch, in yard chat with /skill on ${skill}`,
    );
    this.skill = skill;
  }
}

/** A missing preloaded skill is a warning, as for people at the command line: the agent still works. */
export async function renderPreloaded(
  agent: AgentDefinition,
  command: RunCommand,
  { clients, signal, log }: Rendering,
): Promise<Rendered[]> {
  const call = { signal, correlationId: command.runId };
  const rendered = await Promise.all(
    skillsOn(agent, command).map(async (name) => {
      try {
        return await clients.renderSkill({ name, sessionId: sessionOf(command) }, call);
      } catch (error) {
        if (!isError(error, renderSkill, "unknown_skill")) throw error;
        log.warn(
          { runId: command.runId, agent: agent.name, skill: name },
          "preloaded skill is unknown",
        );
        return null;
      }
    }),
  );
  return rendered.filter((skill) => skill !== null);
}

function skillsOn(
  { skills }: AgentDefinition,
  { skillsOff = [] }: Pick<RunCommand, "skillsOff">,
): string[] {
  return skills.filter((name) => !skillsOff.includes(name));
}

/** Thrown when a command names a skill that its author reserves for models: `user-invocable: false`. */
export class SkillForModels extends Error {
  override readonly name = "SkillForModels";
  readonly skill: string;

  constructor(skill: string) {
    super(`the skill ${skill} is for agents alone: its author wants it so (user-invocable: false)`);
    this.skill = skill;
  }
}

/**
 * Renders the skill that the command names, with a text input as its argument line. Throws SkillForModels; a child run, which a
 * model has started with it, may use every skill. Throws SkillOff.
 */
export async function renderInvoked(
  command: RunCommand,
  { clients, signal }: Omit<Rendering, "log">,
): Promise<Rendered | null> {
  const { payload, runId, parent, skillsOff = [] } = command;
  if (payload.skill === undefined) return null;
  if (skillsOff.includes(payload.skill)) throw new SkillOff(payload.skill);
  const line = isSaid(payload.input) ? inputText(payload.input) : "";
  const digest = parent?.skillDigest;
  const named = { name: payload.skill, ...(digest === undefined ? {} : { digest }) };
  const call = { signal, correlationId: runId };
  const [rendered, { skill }] = await Promise.all([
    clients.renderSkill({ ...named, arguments: line, sessionId: sessionOf(command) }, call),
    clients.getSkill(named, call),
  ]);
  if (!skill.userInvocable && parent === undefined) throw new SkillForModels(skill.name);
  if (skill.dispatch === undefined) return rendered;
  // OpenClaw's own parameter names, for tools that were written for it.
  const input = { command: line, commandName: skill.name, skillName: skill.name };
  return { ...rendered, dispatch: { tool: skill.dispatch.tool, input } };
}

/** The session that a skill's text may name; a run without one is its own. */
function sessionOf({ session, runId }: RunCommand): string {
  return session?.sessionId ?? runId;
}

/** The tools that the agent may use, less those that each skill in the prompt leaves out. A skill can only narrow the list. */
export function layersOf(
  agent: AgentDefinition,
  invoked: Rendered | null,
  preloaded: readonly Rendered[],
): string[][] {
  const inPrompt = invoked === null ? preloaded : [...preloaded, invoked];
  const narrowings = inPrompt.flatMap((skill) => narrowingOf(skill) ?? []);
  return narrowedLayers(agent.tools === null ? [] : [agent.tools], narrowings);
}

/** The agent's plan, else that of the command's skill, else that of the first preloaded skill with one. */
export function firstPlan(
  own: Plan | null,
  invoked: Rendered | null,
  preloaded: readonly Rendered[],
): Plan | null {
  return own ?? invoked?.plan ?? preloaded.find((skill) => skill.plan !== null)?.plan ?? null;
}

/** True for text from a person, with or without files; an object is data. */
function isSaid(input: RunInput): boolean {
  return typeof input === "string" || Array.isArray(input);
}

/** Builds the system prompt: the agent's own, then its preloaded skills, the list of the others and rules. */
export function systemPrompt(parts: readonly string[]): string {
  return parts
    .map((part) => part.trim())
    .filter((part) => part !== "")
    .join("\n\n");
}

/** A skill's text includes a text input already, as its arguments; an object follows it. */
export function firstMessage(input: RunInput, invoked: Rendered | null): string {
  const text = inputText(input, 2);
  if (invoked === null) return text;
  return isSaid(input) ? invoked.text : `${invoked.text}\n\n${text}`;
}

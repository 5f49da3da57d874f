import type { AgentDefinition } from "@switchyard/contracts/agents";
import { getAgent } from "@switchyard/contracts/agents";
import { layerWithout } from "@switchyard/contracts/run-token";
import { isError, ServiceError } from "@switchyard/contracts/errors";
import type { RunInput } from "@switchyard/contracts/runs";
import type { SkillCatalogue } from "@switchyard/contracts/skill-catalogue";
import { renderSkill } from "@switchyard/contracts/skills";
import type { Plan } from "@switchyard/contracts/plan";
import type { Log } from "@switchyard/service/log";
import type { StartedEntry } from "../journal/journal-entry.ts";
import { ModelUnusable, type ModelRegistry } from "../model/model-registry.ts";
import { isOutage, type Peers } from "../peers.ts";
import type { Rejection, RunCommand } from "../commands/run-command.ts";
import type { RunStore } from "../journal/run-store.ts";
import { DEFAULT_DEPTH } from "../children/child-run.ts";
import { grantToken, type RunToken } from "./grant-token.ts";
import { PROVENANCE_RULE } from "../context/observation.ts";
import { problemOfSchema } from "../tools/output-schema.ts";
import { systemPrompt } from "../model/system-prompt.ts";

export interface PrepareOptions {
  readonly peers: Peers;
  readonly models: ModelRegistry;
  readonly store: Pick<RunStore, "load">;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** Time limit of runs that ask for none, in milliseconds. */
  readonly defaultTimeoutMs: number;
  readonly now: () => number;
}

/** A run that does the same with the same result so often is going round in circles. */
const DEFAULT_REPEATED_CALLS = 25;
const MAX_ABOUT = 8_192;

export type Preparation =
  | { readonly outcome: "ready"; readonly started: StartedEntry; readonly token: RunToken }
  | { readonly outcome: "rejected"; readonly rejection: Rejection };

/**
 * Collects everything that a new run is pinned to: agent, skills, model, limits, permission. What
 * the command got wrong is a rejection; an outage rejects the promise and the command comes again.
 */
export async function prepareRun(
  command: RunCommand,
  options: PrepareOptions,
): Promise<Preparation> {
  const { output } = command.payload;
  const problem = output === undefined ? null : problemOfSchema(output);
  if (problem !== null) {
    const message = `the output schema cannot be used: ${problem}`;
    const rejection = { code: "invalid_output_schema", message, problems: [`output: ${problem}`] };
    return { outcome: "rejected", rejection };
  }
  try {
    return await prepare(command, options);
  } catch (error) {
    const rejection = rejectionOf(command, error);
    if (rejection === null) throw error;
    return { outcome: "rejected", rejection };
  }
}

async function prepare(command: RunCommand, options: PrepareOptions): Promise<Preparation> {
  const { peers, models, now } = options;
  const call = { signal: options.signal, correlationId: command.runId };
  const [{ agent }, invoked] = await Promise.all([
    peers.getAgent({ name: command.agent }, call),
    renderInvoked(command, options),
  ]);
  const preloaded = await renderPreloaded(agent, command, options);
  const toolLayers = layersOf(agent, invoked, preloaded);
  const [catalogue, grant] = await Promise.all([
    peers.skillCatalogue(catalogueRequest(command, agent), call),
    grantToken(
      {
        runId: command.runId,
        agent: agent.name,
        requester: command.requester,
        toolLayers,
        roles: agent.roles,
        parent: command.parent,
      },
      { peers, load: options.store.load, signal: options.signal },
    ),
  ]);

  const model = command.payload.model ?? agent.model ?? models.defaultModel;
  const plan = firstPlan(agent.plan, invoked, preloaded);
  // Opened only to be sure: an unusable model is the sender's to learn now.
  await models.open(model, { plan, input: command.payload.input });
  const inPrompt = invoked === null ? preloaded : [...preloaded, invoked];
  const started: StartedEntry = {
    kind: "started",
    at: new Date(now()).toISOString(),
    runId: command.runId,
    agent: agent.name,
    agentDigest: agent.digest,
    requester: command.requester,
    input: command.payload.input,
    labels: command.payload.labels ?? {},
    model,
    temperature: agent.temperature,
    instructions: systemPrompt([
      agent.systemPrompt,
      ...preloaded.map(({ text }) => text),
      catalogue.text,
      toolLayers.some((layer) => layer.length === 0) ? "" : PROVENANCE_RULE,
    ]),
    prompt: firstMessage(command.payload.input, invoked),
    limits: limitsOf(command, agent, options.defaultTimeoutMs),
    toolLayers,
    skills: inPrompt.map(({ name, digest }) => ({ name, digest })),
    catalogue: catalogue.listed.map(({ name, digest }) => ({ name, digest })),
    ...cutOf(catalogue),
    ...(agent.roles.length === 0 ? {} : { roles: agent.roles }),
    onUnknownOutcome: agent.onUnknownOutcome,
    ...(agent.contextWindow === null ? {} : { contextWindow: agent.contextWindow }),
    ...(command.payload.output === undefined ? {} : { output: command.payload.output }),
    plan: model.startsWith("scripted/") ? plan : null,
    policyDigest: grant.policyDigest,
    ...originOf(command, agent),
    ...(invoked?.dispatch === undefined ? {} : { dispatch: invoked.dispatch }),
  };
  return {
    outcome: "ready",
    started,
    token: { token: grant.token, expiresAt: grant.expiresAt },
  };
}

/** What the run is about decides which skills are left out first when there are too many. */
function catalogueRequest({ payload }: RunCommand, agent: AgentDefinition) {
  const { input } = payload;
  const about = (typeof input === "string" ? input : JSON.stringify(input)).slice(0, MAX_ABOUT);
  const { contextWindow } = agent;
  return { about, ...(contextWindow === null ? {} : { contextWindow }) };
}

/** For the operator: what a model was not told of. */
function cutOf({ listed, dropped }: SkillCatalogue): Pick<StartedEntry, "catalogueCut"> {
  const shortened = listed.filter((skill) => skill.shortened).map(({ name }) => name);
  return shortened.length + dropped.length === 0 ? {} : { catalogueCut: { shortened, dropped } };
}

/** Each only narrows: what the agent may use, what the command's skill asks for, and what no skill in the prompt wants used. */
function layersOf(
  agent: AgentDefinition,
  invoked: Rendered | null,
  preloaded: readonly Rendered[],
): string[][] {
  const inPrompt = invoked === null ? preloaded : [...preloaded, invoked];
  const without = layerWithout(inPrompt.flatMap(({ disallowedTools = [] }) => disallowedTools));
  return [agent.tools, invoked?.allowedTools ?? null, without].filter((layer) => layer !== null);
}

interface Rendered {
  readonly name: string;
  readonly digest: string;
  readonly text: string;
  readonly allowedTools: string[] | null;
  readonly disallowedTools?: string[] | undefined;
  readonly plan: Plan | null;
  /** Set when the skill stands for a tool: its arguments go there as they are. */
  readonly dispatch?: NonNullable<StartedEntry["dispatch"]>;
}

/** A preloaded skill that is gone is a warning, as for people at the command line: the agent still works. */
async function renderPreloaded(
  agent: AgentDefinition,
  command: RunCommand,
  { peers, signal, log }: PrepareOptions,
): Promise<Rendered[]> {
  const call = { signal, correlationId: command.runId };
  const rendered = await Promise.all(
    agent.skills.map(async (name) => {
      try {
        return await peers.renderSkill({ name, sessionId: command.runId }, call);
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

/** The skill that the command names, with a text input as its argument line. */
async function renderInvoked(
  { payload, runId, parent }: RunCommand,
  { peers, signal }: PrepareOptions,
): Promise<Rendered | null> {
  if (payload.skill === undefined) return null;
  const line = typeof payload.input === "string" ? payload.input : "";
  const digest = parent?.skillDigest;
  const named = { name: payload.skill, ...(digest === undefined ? {} : { digest }) };
  const call = { signal, correlationId: runId };
  const [rendered, { skill }] = await Promise.all([
    peers.renderSkill({ ...named, arguments: line, sessionId: runId }, call),
    peers.getSkill(named, call),
  ]);
  if (skill.dispatch === undefined) return rendered;
  // OpenClaw's own names, for tools that were written for it.
  const input = { command: line, commandName: skill.name, skillName: skill.name };
  return { ...rendered, dispatch: { tool: skill.dispatch.tool, input } };
}

/** Where the run comes from, and how many runs may be below it. */
function originOf(
  { parent, fork }: RunCommand,
  { limits }: AgentDefinition,
): Pick<StartedEntry, "depthLeft" | "parent" | "fork"> {
  const own = limits.maxDepth ?? DEFAULT_DEPTH;
  const depthLeft = parent === undefined ? own : Math.max(0, Math.min(own, parent.depthLeft));
  return {
    depthLeft,
    ...(parent === undefined ? {} : { parent: { runId: parent.runId, callId: parent.callId } }),
    ...(fork === undefined ? {} : { fork }),
  };
}

/** The agent's plan, else that of the command's skill, else that of the first preloaded skill with one. */
function firstPlan(
  own: Plan | null,
  invoked: Rendered | null,
  preloaded: readonly Rendered[],
): Plan | null {
  return own ?? invoked?.plan ?? preloaded.find((skill) => skill.plan !== null)?.plan ?? null;
}

/** A skill's text holds a text input already, as its arguments; an object follows it. */
function firstMessage(input: RunInput, invoked: Rendered | null): string {
  if (typeof input === "string") return invoked?.text ?? input;
  const json = JSON.stringify(input, null, 2);
  return invoked === null ? json : `${invoked.text}\n\n${json}`;
}

function limitsOf(
  { payload }: RunCommand,
  agent: AgentDefinition,
  defaultTimeoutMs: number,
): StartedEntry["limits"] {
  const asked = payload.limits ?? {};
  const maxTokens = smaller(agent.limits.maxTokens, asked.maxTokens);
  const maxCostUsd = smaller(agent.limits.maxCostUsd, asked.maxCostUsd);
  return {
    maxSteps: Math.min(agent.maxSteps, asked.maxSteps ?? agent.maxSteps),
    maxToolCalls: smaller(agent.limits.maxToolCalls, asked.maxToolCalls),
    ...(maxTokens === null ? {} : { maxTokens }),
    ...(maxCostUsd === null ? {} : { maxCostUsd }),
    maxRepeatedCalls: asked.maxRepeatedCalls ?? DEFAULT_REPEATED_CALLS,
    timeoutMs: smaller(agent.limits.timeoutMs, asked.timeoutMs) ?? defaultTimeoutMs,
  };
}

/** The stricter of what the agent and the command say; null when neither says anything. */
function smaller(own: number | null, asked: number | undefined): number | null {
  if (own === null) return asked ?? null;
  return asked === undefined ? own : Math.min(own, asked);
}

/** What the sender must change; null for outages and faults. */
function rejectionOf(command: RunCommand, error: unknown): Rejection | null {
  if (error instanceof ModelUnusable)
    return { code: error.code, message: error.message, problems: [] };
  if (isError(error, getAgent, "unknown_agent")) {
    return {
      code: error.code,
      message: `there is no agent ${command.agent}; known are ${error.data.known.join(", ") || "none"}`,
      problems: [],
    };
  }
  if (isError(error, renderSkill, "unknown_skill")) {
    return {
      code: error.code,
      message: `there is no skill ${error.data.name}; known are ${error.data.known.join(", ") || "none"}`,
      problems: ["skill: names no imported skill"],
    };
  }
  if (error instanceof ServiceError && !isOutage(error)) {
    return {
      code: "not_startable",
      message: `the run could not be prepared: ${error.message}`,
      problems: [],
    };
  }
  return null;
}

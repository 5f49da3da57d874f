import { inputText } from "@switchyard/contracts/agent-runner/input-text";
import { stricterTier } from "@switchyard/contracts/policy/approval-tier";
import type { AgentDefinition } from "@switchyard/contracts/skill-importer/agents";
import { cutText } from "@switchyard/contracts/cut-text";
import type { Provenance } from "@switchyard/contracts/skill-importer/definition-store";
import { isError } from "@switchyard/contracts/errors";
import { grantRun } from "@switchyard/contracts/policy/policy-grants";
import { distinctLayers, MAX_TOOL_LAYERS } from "@switchyard/contracts/policy/run-token";
import type { SkillCatalogue } from "@switchyard/contracts/skill-importer/skill-catalogue";
import type { Log } from "@switchyard/service/log";
import type { Dictation, StartedEntry } from "../core/started-entry.ts";
import type { ModelRegistry } from "../model/model-registry.ts";
import { REPLAY_MODEL } from "../model/replay-model.ts";
import type { FileStore } from "../context/file-store.ts";
import type { ServiceClients } from "../context/service-clients.ts";
import type { Rejection, RunCommand } from "../commands/run-command.ts";
import type { RunStore } from "../journal/run-store.ts";
import { listProviderTools, type Listing } from "../context/list-provider-tools.ts";
import { startOf } from "../core/replay.ts";
import { policedTools } from "../waits/own-tools.ts";
import { DEFAULT_DEPTH } from "../waits/start-child.ts";
import { grantToken, type RunToken } from "../context/run-token-keeper.ts";
import { GROUP_MESSAGE_RULE } from "@switchyard/contracts/channels/group-message";
import { Suspended } from "../core/interruption.ts";
import { PROVENANCE_RULE } from "../core/observation.ts";
import { problemOfSchema } from "@switchyard/service/json-schema/answer-schema";
import { narrowedLayers } from "../core/tool-narrowing.ts";
import { contextOf } from "../sessions/session-lines.ts";
import {
  firstMessage,
  firstPlan,
  layersOf,
  renderInvoked,
  renderPreloaded,
  systemPrompt,
} from "./rendered-skills.ts";
import { MEMORY_RULE, recallForRun } from "./recall-for-run.ts";
import { requireAllowedFiles, requireFiles } from "./input-files.ts";
import { rejectionOf, TooManyLayers } from "./start-rejection.ts";
import type { OnLimit } from "@switchyard/contracts/agent-runner/runs";

interface PrepareOptions extends RunDefaults {
  readonly clients: ServiceClients;
  readonly models: ModelRegistry;
  readonly store: Pick<RunStore, "load" | "reserve">;
  readonly files: Pick<FileStore, "find">;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly now: () => number;
}

const MAX_ABOUT = 8_192;

/** The parts of a run that does not exist yet. */
export interface PreparedRun {
  readonly started: StartedEntry;
  readonly token: RunToken;
  /** The tools that the run may call. */
  readonly listing: Promise<Listing>;
}

export type Preparation =
  | ({ readonly outcome: "ready" } & PreparedRun)
  | { readonly outcome: "rejected"; readonly rejection: Rejection }
  /** The run exists already, or another runner prepares it, too. */
  | { readonly outcome: "not-ours" };

/**
 * Collects everything that a new run is pinned to: agent, skills, model, limits, permission. A mistake in the command is a
 * rejection; an outage rejects the promise and the command comes again.
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
    await requireFiles(command, options.files);
    return await prepare(command, options);
  } catch (error) {
    if (isError(error, grantRun, "not_held")) return { outcome: "not-ours" };
    // The run that requested it is usually stopped, too, and waits for it.
    if (isError(error, grantRun, "stopped") && command.parent !== undefined)
      throw new Suspended("a run for another run is not begun while it is stopped", {
        cause: error,
      });
    const rejection = rejectionOf(command, error);
    if (rejection === null) throw error;
    return { outcome: "rejected", rejection };
  }
}

async function prepare(command: RunCommand, options: PrepareOptions): Promise<Preparation> {
  const { clients, models, now } = options;
  const call = { signal: options.signal, correlationId: command.runId };
  const [{ agent, provenance }, invoked] = await Promise.all([
    clients.getAgent({ name: command.agent }, call),
    renderInvoked(command, options),
    options.store.reserve(command),
  ]);
  const preloaded = await renderPreloaded(agent, command, options);
  const toolLayers = withinSender(layersOf(agent, invoked, preloaded), command);
  const { model, played } = modelOf(command, { agent, provenance, models });
  const [catalogue, grant] = await Promise.all([
    clients.skillCatalogue(catalogueRequest(command, agent), call),
    grantToken(
      {
        runId: command.runId,
        agent: agent.name,
        requester: command.requester,
        // A copy of another run's steps contains the skills that those steps activated.
        toolLayers: narrowedLayers(toolLayers, command.fork?.narrowings ?? []),
        ...dutiesOf(agent, command),
        parent: command.parent,
        session: command.session,
        origin: command.sender?.origin ?? command.payload.origin,
        broughtBy: command.broughtBy,
        model,
        ...played,
      },
      { clients, load: options.store.load, signal: options.signal },
    ),
  ]);

  const granted = { ...options, token: grant.token };
  await requireAllowedFiles(command, granted);
  const recalled = await recallForRun(agent, { ...granted, runId: command.runId });
  const plan = firstPlan(agent.plan, invoked, preloaded);
  // Opened only as a check, so that the sender learns of an unusable model at once. A skill that dispatches to a tool calls no model.
  if (invoked?.dispatch === undefined)
    await models.open(model, { plan, input: command.payload.input, replay: played.replay });
  const inPrompt = invoked === null ? preloaded : [...preloaded, invoked];
  const started: StartedEntry = {
    kind: "started",
    at: new Date(now()).toISOString(),
    runId: command.runId,
    agent: agent.name,
    agentDigest: agent.digest,
    requester: command.requester,
    ...(command.payload.readers === undefined ? {} : { readers: command.payload.readers }),
    input: command.payload.input,
    labels: command.payload.labels ?? {},
    model,
    ...settingsOf(command, agent),
    instructions: systemPrompt([
      agent.systemPrompt,
      ...preloaded.map(({ text }) => text),
      catalogue.text,
      ...rulesFor(command, agent, toolLayers),
    ]),
    prompt: firstMessage(command.payload.input, invoked),
    ...(recalled.text === "" ? {} : { recalled: recalled.text }),
    limits: limitsOf(command, agent, options),
    toolLayers,
    skills: inPrompt.map(({ name, digest }) => ({ name, digest })),
    ...(command.payload.skill === undefined ? {} : { invoked: command.payload.skill }),
    catalogue: catalogue.listed.map(({ name, digest }) => ({ name, digest })),
    ...cutOf(catalogue),
    ...offOf(command),
    ...(recalled.memory === null ? {} : { memory: recalled.memory }),
    ...dutiesOf(agent, command),
    onUnknownOutcome: agent.onUnknownOutcome,
    ...windowOf(command, agent, models.factsOf(model).contextWindow),
    ...(command.payload.output === undefined ? {} : { output: command.payload.output }),
    plan: model.startsWith("scripted/") ? plan : null,
    ...played,
    policyDigest: grant.policyDigest,
    ...originOf(command, agent),
    ...(invoked?.dispatch === undefined ? {} : { dispatch: invoked.dispatch }),
  };
  return { outcome: "ready", started, token: grant, listing: listTools(started, grant, options) };
}

/** Requests the list of tools before the run is made, since neither depends on the other. */
function listTools(
  started: StartedEntry,
  { token }: RunToken,
  { clients, signal }: Pick<PrepareOptions, "clients" | "signal">,
): Promise<Listing> {
  const state = startOf(started);
  const asking = { token, layers: state.toolLayers, policed: policedTools(state) };
  const listing = listProviderTools(clients, asking, { signal, correlationId: started.runId });
  listing.catch(() => {}); // the run may end before it needs the list, so a failure is handled where the list is read
  return listing;
}

/** The rules in the prompt for reading messages of other writers. */
function rulesFor(
  { payload }: RunCommand,
  { memoryBytes }: AgentDefinition,
  toolLayers: StartedEntry["toolLayers"],
): string[] {
  const hasTools = toolLayers.every((layer) => layer.length > 0);
  return [
    ...(hasTools ? [PROVENANCE_RULE] : []),
    ...(payload.origin?.group === undefined ? [] : [GROUP_MESSAGE_RULE]),
    ...(memoryBytes === null ? [] : [MEMORY_RULE]),
  ];
}

/**
 * Determines the model of a run, and its replay: a recording, or the plan of an agent that a client sent. A child and a copy of
 * a dictated run are marked like it, whatever model they use.
 */
function modelOf(
  { requester, payload, sender, dictation = {} }: RunCommand,
  {
    agent,
    provenance,
    models,
  }: {
    readonly agent: AgentDefinition;
    readonly provenance: Provenance | undefined;
    readonly models: Pick<ModelRegistry, "defaultModel">;
  },
): { readonly model: string; readonly played: Pick<StartedEntry, "replay"> & Dictation } {
  const { replay, model = agent.model ?? models.defaultModel } = payload;
  const { replayed, dictatedBy } = sender?.origin ?? {};
  const marks = {
    ...(replayed === undefined ? {} : { replayed }),
    ...(dictatedBy === undefined ? {} : { dictatedBy }),
    ...dictation,
  };
  if (replay !== undefined)
    return { model: REPLAY_MODEL, played: { replay, dictatedBy: requester } };
  // An agent or skill in a directory of the installation has no user as its author.
  const isSent = provenance !== undefined && provenance.source !== "root";
  const isPlan = isSent && model.startsWith("scripted/");
  return { model, played: { ...marks, ...(isPlan ? { dictatedBy: provenance.by } : {}) } };
}

/** The settings sent to the model beside the conversation. */
function settingsOf(
  { payload }: RunCommand,
  { temperature, ...agent }: AgentDefinition,
): Pick<StartedEntry, "temperature" | "thinking" | "sampling"> {
  const thinking = payload.thinking ?? agent.thinking;
  const { sampling } = payload;
  return {
    temperature,
    ...(thinking === null ? {} : { thinking }),
    ...(sampling === undefined ? {} : { sampling }),
  };
}

/** Throws TooManyLayers when a run token has no room for the layers of the sender. */
function withinSender(layers: string[][], { sender }: RunCommand): string[][] {
  if (sender === undefined) return layers;
  const all = distinctLayers([...layers, ...sender.tools]);
  if (all.length > MAX_TOOL_LAYERS) throw new TooManyLayers(all.length);
  return all;
}

/** The facts about the agent that the policy gets, as its file has them. */
function dutiesOf(
  { roles, approval: own, sharesMemory }: AgentDefinition,
  { sender }: RunCommand,
): Pick<StartedEntry, "roles" | "approval" | "sharesMemory"> {
  const approval = own === null ? (sender?.approval ?? null) : stricterTier(own, sender?.approval);
  return {
    ...(roles.length === 0 ? {} : { roles }),
    ...(approval === null ? {} : { approval }),
    ...(sharesMemory ? { sharesMemory: true } : {}),
  };
}

/** The subject of the run, or of its session, decides which skills are left out first when there are too many. */
function catalogueRequest(
  { payload, before = [], skillsOff = [] }: RunCommand,
  agent: AgentDefinition,
) {
  const about = cutText(before[0]?.text ?? inputText(payload.input), MAX_ABOUT);
  const { contextWindow } = agent;
  return {
    about,
    ...(contextWindow === null ? {} : { contextWindow }),
    // Importers of older versions do not have the field, so it is sent only where it matters.
    ...(skillsOff.length === 0 ? {} : { without: [...skillsOff].toSorted() }),
  };
}

/**
 * The window that limits the conversation, and the earlier messages, which fill a third of the window at most, at three bytes a
 * token. A recording is replayed as it was made.
 */
function windowOf(
  { before, payload: { replay } }: RunCommand,
  agent: AgentDefinition,
  known: number | null,
): Pick<StartedEntry, "contextWindow" | "before"> {
  const own = Math.min(agent.contextWindow ?? Infinity, known ?? Infinity);
  const contextWindow = replay?.contextWindow ?? own;
  return {
    ...(contextWindow === Infinity ? {} : { contextWindow }),
    ...(before === undefined ? {} : { before: contextOf(before, contextWindow) }),
  };
}

/** The catalogue's shortened and dropped skills, for the operator; the model is not shown them. */
function cutOf({ listed, dropped }: SkillCatalogue): Pick<StartedEntry, "catalogueCut"> {
  const shortened = listed.filter((skill) => skill.shortened).map(({ name }) => name);
  return shortened.length + dropped.length === 0 ? {} : { catalogueCut: { shortened, dropped } };
}

function offOf({ skillsOff = [] }: RunCommand): Pick<StartedEntry, "skillsOff"> {
  return skillsOff.length === 0 ? {} : { skillsOff: [...skillsOff] };
}

/** The origin of the run, and how many levels of runs may be below it. */
function originOf(
  { parent, fork, session, broughtBy, followUp, sender, payload }: RunCommand,
  { limits }: AgentDefinition,
): Pick<
  StartedEntry,
  "depthLeft" | "parent" | "fork" | "origin" | "broughtBy" | "followUp" | "sender" | "session"
> {
  const origin = sender?.origin ?? payload.origin;
  const own = limits.maxDepth ?? DEFAULT_DEPTH;
  const depthLeft = parent === undefined ? own : Math.max(0, Math.min(own, parent.depthLeft));
  return {
    depthLeft,
    ...(parent === undefined ? {} : { parent: { runId: parent.runId, callId: parent.callId } }),
    ...(fork === undefined ? {} : { fork }),
    ...(origin === undefined ? {} : { origin }),
    ...(broughtBy === undefined ? {} : { broughtBy }),
    ...(followUp === undefined ? {} : { followUp }),
    ...(sender === undefined ? {} : { sender }),
    ...(session === undefined ? {} : { session }),
  };
}

/** After so many equal calls with equal results a run is considered to be in a loop. */
const DEFAULT_REPEATED_CALLS = 25;

/** The limits of runs that request no others. */
export interface RunDefaults {
  /** In milliseconds. */
  readonly defaultTimeoutMs: number;
  readonly onLimit: OnLimit;
}

/** Computes the limits of a new run: the stricter ones of agent and command. */
function limitsOf(
  { payload }: RunCommand,
  agent: AgentDefinition,
  { defaultTimeoutMs, onLimit }: RunDefaults,
): StartedEntry["limits"] {
  const wanted = payload.limits ?? {};
  const maxTokens = smaller(agent.limits.maxTokens, wanted.maxTokens);
  const maxCostUsd = smaller(agent.limits.maxCostUsd, wanted.maxCostUsd);
  return {
    maxSteps: Math.min(agent.maxSteps, wanted.maxSteps ?? agent.maxSteps),
    maxToolCalls: smaller(agent.limits.maxToolCalls, wanted.maxToolCalls),
    ...(maxTokens === null ? {} : { maxTokens }),
    ...(maxCostUsd === null ? {} : { maxCostUsd }),
    maxRepeatedCalls: wanted.maxRepeatedCalls ?? DEFAULT_REPEATED_CALLS,
    timeoutMs: smaller(agent.limits.timeoutMs, wanted.timeoutMs) ?? defaultTimeoutMs,
    onLimit: wanted.onLimit ?? onLimit,
  };
}

/** The stricter limit of agent and command; null when neither sets one. */
function smaller(own: number | null, wanted: number | undefined): number | null {
  if (own === null) return wanted ?? null;
  return wanted === undefined ? own : Math.min(own, wanted);
}

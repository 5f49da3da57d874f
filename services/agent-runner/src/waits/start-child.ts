import { publishCommand } from "@switchyard/bus/publish";
import { spawnRun } from "@switchyard/contracts/agent-runner/run-commands";
import type { RunInput } from "@switchyard/contracts/agent-runner/runs";
import type { SkillRef } from "../core/answer-part.ts";
import type { CallState, RunState } from "../core/run-state.ts";
import type { RunContext } from "../context/run-context.ts";
import type { ActiveRun } from "../journal/active-run.ts";
import { failure, type CallOutcome, type CallStep } from "../core/call-outcome.ts";
import { ownResult } from "./finish-wait.ts";
import { passAgentGate, type AllowedStart } from "./agent-gate.ts";
import { createHash } from "node:crypto";
import { fullRunId, AgentName } from "@switchyard/contracts/ids";
import { isError } from "@switchyard/contracts/errors";
import { getSkill } from "@switchyard/contracts/skill-importer/skills";
import type { ServiceClients } from "../context/service-clients.ts";
import { SkillToolInput } from "../core/tool-catalogue.ts";

/** The total number of runs that a run may start. */
export const MAX_CHILDREN = 16;
/** The maximum depth of nested child runs when an agent does not set a limit. */
export const DEFAULT_DEPTH = 3;

/** A request for a run that works for this one. */
interface ChildRequest {
  readonly callId: string;
  readonly agent: string;
  readonly input: RunInput;
  readonly wait: boolean;
  readonly model?: string;
  /** A skill to begin with, in the version that this run is pinned to. */
  readonly skill?: SkillRef;
}

/**
 * Starts a child run when the policy allows it, whether the tool `agent` or a skill requests it: the policy checks a call of
 * `agent`, with the arguments as they will be used. A child that has been started was checked already.
 */
export async function startAllowedChild(
  call: CallState,
  request: ChildRequest,
  context: RunContext,
): Promise<CallStep> {
  const { callId, agent, input: task, wait, model, skill } = request;
  const { children } = context.run.state;
  if (children.some((child) => child.callId === callId)) return sendChild(request, context);
  const args = { agent, task, wait, ...(model && { model }), ...(skill && { skill: skill.name }) };
  const start = async (allowed: AllowedStart): Promise<CallStep> => {
    const refusal = await writeDown(request, allowed, context.run);
    return refusal ?? sendChild(request, context);
  };
  return passAgentGate(call, args, { start, context });
}

/**
 * The child run that a call of the tool `skill` stands for, when the skill's author wants it to run in a
 * context of its own; null for every other call.
 */
export async function forkOf(
  { part: { callId, input } }: CallState,
  { started }: RunState,
  clients: ServiceClients,
): Promise<ChildRequest | null> {
  const read = SkillToolInput.safeParse(input);
  if (!read.success) return null;
  const pinned = started.catalogue.find(({ name }) => name === read.data.name);
  if (pinned === undefined) return null;
  try {
    const { skill } = await clients.getSkill(pinned, { correlationId: started.runId });
    if (skill.record?.context !== "fork") return null;
    const named = AgentName.safeParse(skill.record.agent);
    // A skill's text takes the input as its argument line, which may be blank and must be there.
    const line = read.data.arguments === "" ? " " : read.data.arguments;
    const agent = named.success ? named.data : started.agent;
    return { callId, agent, input: line, wait: true, skill: pinned };
  } catch (error) {
    // The step that renders the skill reports to the model that it no longer exists.
    if (isError(error, getSkill, "unknown_skill")) return null;
    throw error;
  }
}

/** The id of the run that a call starts: the same for every attempt, so it is started once. Its owner is that of its parent. */
export function childRunIdOf(owner: string, callId: string): string {
  return fullRunId(owner, `sub-${createHash("sha256").update(callId).digest("hex").slice(0, 26)}`);
}

/**
 * Records the start in the audit and in the journal. From then on any runner that holds this run sends the command, and the
 * child's id makes repeated commands one run. Returns why the child cannot be started, or null when the start is recorded.
 */
async function writeDown(
  { callId, agent }: ChildRequest,
  { decision, recorded }: AllowedStart,
  run: ActiveRun,
): Promise<CallOutcome | null> {
  if ((run.state.started.depthLeft ?? 0) < 1)
    return failure(callId, "too_deep", "runs may nest no deeper; do the work yourself");
  if (childrenOf(run) >= MAX_CHILDREN)
    return failure(callId, "too_many_children", `a run may start ${MAX_CHILDREN} runs at most`);
  const childRunId = childRunIdOf(run.state.started.requester, callId);
  const beginning = beginningOf(run);
  beginning.add(childRunId);
  try {
    await recorded(() => run.note({ kind: "child-started", callId, childRunId, agent, decision }));
    return null;
  } finally {
    beginning.delete(childRunId);
  }
}

/** Sends the command of a recorded child, once more when this run was taken over. The call waits only once the command is stored. */
async function sendChild(
  { callId, agent, input, wait, model, skill }: ChildRequest,
  { run, bus }: RunContext,
): Promise<CallStep> {
  const { started } = run.state;
  const known = run.state.children.find((child) => child.callId === callId);
  const childRunId = known?.childRunId ?? childRunIdOf(started.requester, callId);
  const payload = {
    runId: childRunId,
    parent: { runId: started.runId, callId },
    input,
    ...(model === undefined ? {} : { model }),
    ...(skill === undefined ? {} : { skill: skill.name, skillDigest: skill.digest }),
  };
  await publishCommand(bus, spawnRun, { agent }, payload, {
    correlationId: started.runId,
  });
  if (!wait) {
    const text = JSON.stringify({ run: childRunId, status: "running" });
    return { ...ownResult(callId, text, false), decision: known?.decision ?? null };
  }
  return { kind: "tool-parked", callId, wait: { reason: "child", childRunId, until: null } };
}

/** Children whose start is being recorded: the calls of one step are made concurrently. */
const BEGINNING = new WeakMap<ActiveRun, Set<string>>();

function beginningOf(run: ActiveRun): Set<string> {
  const known = BEGINNING.get(run) ?? new Set();
  BEGINNING.set(run, known);
  return known;
}

function childrenOf(run: ActiveRun): number {
  const written = run.state.children.map(({ childRunId }) => childRunId);
  return new Set([...written, ...beginningOf(run)]).size;
}

import type { Bus } from "@switchyard/bus/connect";
import { publishCommand } from "@switchyard/bus/publish";
import { spawnRun } from "@switchyard/contracts/run-commands";
import type { RunInput } from "@switchyard/contracts/runs";
import type { Decision } from "@switchyard/contracts/policy";
import type { AgentGate } from "../children/agent-gate.ts";
import { AgentToolInput, agentTool } from "../children/agent-tool.ts";
import { childRunIdOf, MAX_CHILDREN } from "../children/child-run.ts";
import { listOfChildren, SubagentsInput, subagentsTool } from "../children/subagents-tool.ts";
import type { SkillRef } from "../journal/answer-part.ts";
import type { StartedEntry } from "../journal/started-entry.ts";
import type { CallState } from "../journal/run-state.ts";
import type { Wait } from "../journal/wait.ts";
import type { ActiveRun } from "../run/active-run.ts";
import type { RunControls } from "../run/run-controls.ts";
import { failure, type CallOutcome, type CallStep } from "../tools/call-outcome.ts";
import type { OfferedTool } from "../tools/tool-catalogue.ts";
import { askUserTool, readQuestion } from "./ask-user-tool.ts";
import { told } from "./finish-wait.ts";
import { readTimer, waitTool } from "./wait-tool.ts";

/** The tools that the runner itself answers, beside `skill`. */
export function ownToolsOf({ depthLeft = 0 }: StartedEntry): OfferedTool[] {
  return [askUserTool, waitTool, ...(depthLeft > 0 ? [agentTool, subagentsTool] : [])];
}

export interface OwnToolCaller {
  readonly run: ActiveRun;
  readonly bus: Bus;
  readonly controls: RunControls;
  readonly gate: AgentGate;
  readonly now: () => number;
}

/** Carries out a call of one of the runner's own tools. */
export async function callOwnTool(call: CallState, caller: OwnToolCaller): Promise<CallStep> {
  const { callId, tool, input } = call.part;
  switch (tool) {
    case askUserTool.name:
      return parkedOr(callId, tool, readQuestion(input, caller.now()));
    case waitTool.name:
      return parkedOr(callId, tool, readTimer(input, caller.now()));
    case agentTool.name:
      return giveTask(call, caller);
    case subagentsTool.name:
      return lookAfterChildren(callId, input, caller);
    default:
      return failure(callId, "unknown_tool", `the runner has no tool ${tool}`);
  }
}

/** The policy decides about the arguments as they will be used. A child that has been started was decided about. */
async function giveTask(call: CallState, caller: OwnToolCaller): Promise<CallStep> {
  const { callId, tool, input } = call.part;
  const read = AgentToolInput.safeParse(input);
  if (!read.success) return badArguments(callId, tool, read.error);
  const { started, children } = caller.run.state;
  const { agent = started.agent, task, wait, model } = read.data;
  const request = { callId, agent, input: task, wait, ...(model && { model }) };
  if (children.some((child) => child.callId === callId)) return startChild(request, caller);
  const args = { ...read.data, agent };
  return caller.gate.pass(call, args, (decision) => startChild({ ...request, decision }, caller));
}

/** A run that is to work for this one. */
export interface ChildRequest {
  readonly callId: string;
  readonly agent: string;
  readonly input: RunInput;
  readonly wait: boolean;
  readonly model?: string;
  /** A skill to begin with, as this run is pinned to it. */
  readonly skill?: SkillRef;
  /** The policy's, where it was asked. */
  readonly decision?: Decision;
}

/**
 * Starts a child run. That it is started is written down first, so whoever takes this run over sends the
 * command again, and the child's id makes that one run. The call waits only once the command is stored.
 */
export async function startChild(
  { callId, agent, input, wait, model, skill, decision }: ChildRequest,
  { run, bus, now }: Omit<OwnToolCaller, "gate">,
): Promise<CallStep> {
  const { started, children } = run.state;
  const childRunId = childRunIdOf(callId);
  if (!children.some((child) => child.childRunId === childRunId)) {
    if ((started.depthLeft ?? 0) < 1)
      return failure(callId, "too_deep", "runs may nest no deeper; do the work yourself");
    if (children.length >= MAX_CHILDREN)
      return failure(callId, "too_many_children", `a run may start ${MAX_CHILDREN} runs at most`);
    const at = new Date(now()).toISOString();
    const decided = decision === undefined ? {} : { decision };
    await run.record({ kind: "child-started", at, callId, childRunId, agent, ...decided });
  }
  const payload = {
    runId: childRunId,
    parent: { runId: started.runId, callId },
    input,
    ...(model === undefined ? {} : { model }),
    ...(skill === undefined ? {} : { skill: skill.name, skillDigest: skill.digest }),
  };
  await publishCommand(bus, spawnRun, { agent }, payload, {
    messageId: `${childRunId}:spawn`,
    correlationId: started.runId,
  });
  if (!wait) {
    const text = JSON.stringify({ run: childRunId, status: "running" });
    const known = run.state.children.find((child) => child.childRunId === childRunId);
    return { ...told(callId, text, false), decision: known?.decision ?? null };
  }
  return { kind: "tool-parked", callId, wait: { reason: "child", childRunId, until: null } };
}

async function lookAfterChildren(
  callId: string,
  input: unknown,
  { run, controls, now }: OwnToolCaller,
): Promise<CallOutcome> {
  const read = SubagentsInput.safeParse(input);
  if (!read.success) return badArguments(callId, subagentsTool.name, read.error);
  const { children, started } = run.state;
  if (read.data.action === "list") return told(callId, listOfChildren(children), false);
  const { run: childRunId } = read.data;
  const child = children.find((known) => known.childRunId === childRunId);
  if (child === undefined) return told(callId, `you have started no run ${childRunId}`, true);
  if (child.end !== null) return told(callId, `run ${childRunId} has ${child.end.status}`, true);
  const at = new Date(now()).toISOString();
  const by = started.requester;
  if (read.data.action === "kill") {
    const reason = `its parent, run ${started.runId}, ended it`;
    const outcome = await controls.cancel({ runId: childRunId, by, at, reason, command: callId });
    return told(callId, `kill: ${outcome}`, outcome === "not_allowed");
  }
  const { message } = read.data;
  const outcome = await controls.tell({
    runId: childRunId,
    entry: { kind: "steered", at, by, message },
    by,
    expected: null,
    command: callId,
  });
  const isSaid = outcome === "taken" || outcome === "known";
  return told(callId, isSaid ? "steer: accepted" : `steer: the run is ${outcome}`, !isSaid);
}

function parkedOr(callId: string, tool: string, wait: Wait | string): CallStep {
  if (typeof wait !== "string") return { kind: "tool-parked", callId, wait };
  return failure(callId, "invalid_arguments", `${tool}: ${wait}`);
}

function badArguments(
  callId: string,
  tool: string,
  error: { readonly issues: readonly { path: PropertyKey[]; message: string }[] },
): CallOutcome {
  const problems = error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
  return failure(callId, "invalid_arguments", `${tool}: ${problems.join("; ")}`);
}

import { tokenAllowsTool } from "@switchyard/contracts/policy/run-token";
import { builtinToolRef } from "@switchyard/contracts/tool-names";
import { z } from "zod";
import { RunId } from "@switchyard/contracts/ids";
import { AgentToolInput, agentTool } from "./agent-gate.ts";
import { startAllowedChild } from "./start-child.ts";
import type { StartedEntry } from "../core/started-entry.ts";
import type { CallState, ChildState, RunState } from "../core/run-state.ts";
import type { Wait } from "../core/journal-entry.ts";
import type { RunContext } from "../context/run-context.ts";
import { failure, type CallOutcome, type CallStep } from "../core/call-outcome.ts";
import type { OfferedTool } from "../core/tool-catalogue.ts";
import { askUserTool, readQuestion } from "./ask-user-tool.ts";
import { ownResult } from "./finish-wait.ts";

const MAX_SECONDS = 30 * 24 * 3_600;

/** Lets time pass; no runner is held meanwhile. */
const waitTool: OfferedTool = {
  name: "wait",
  description:
    "Waits for a number of seconds before you continue, such as for something outside to happen.",
  inputSchema: {
    type: "object",
    properties: { seconds: { type: "integer", minimum: 1, maximum: MAX_SECONDS } },
    required: ["seconds"],
    additionalProperties: false,
  },
};

const WaitInput = z.strictObject({ seconds: z.int().min(1).max(MAX_SECONDS) });

/** Lists, steers and ends the runs that a run has started. */
const subagentsTool: OfferedTool = {
  name: "child_runs",
  description:
    "Lists the runs that you have started, gives one of them a message (steer) or ends it (kill).",
  inputSchema: {
    type: "object",
    properties: {
      action: { type: "string", enum: ["list", "steer", "kill"] },
      run: { type: "string", description: "Id of the run, for steer and kill" },
      message: { type: "string", description: "The message to it, for steer" },
    },
    required: ["action"],
    additionalProperties: false,
  },
};

const SubagentsInput = z.discriminatedUnion("action", [
  z.strictObject({ action: z.literal("list") }),
  z.strictObject({
    action: z.literal("steer"),
    run: RunId,
    message: z.string().min(1).max(4_000),
  }),
  z.strictObject({ action: z.literal("kill"), run: RunId }),
]);

/** The tools that the runner itself executes, beside `skill`. */
export function ownToolsOf({ depthLeft = 0 }: StartedEntry): OfferedTool[] {
  return [askUserTool, waitTool, ...(depthLeft > 0 ? [agentTool, subagentsTool] : [])];
}

/** The runner's tools that the policy decides about, as far as the run's layers allow them. */
export function policedTools({ started, toolLayers }: RunState): string[] {
  const { depthLeft = 0 } = started;
  const tools = toolLayers.map((layer) => [...layer]);
  const isPossible = depthLeft > 0 && tokenAllowsTool({ tools }, builtinToolRef(agentTool.name));
  return isPossible ? [agentTool.name] : [];
}

/** A run that may start no children gets no tool to look after them, unless it has a child already. */
export function unusableTools({ children }: RunState, denied: readonly string[]): string[] {
  const isIdle = denied.includes(agentTool.name) && children.length === 0;
  return [...denied, ...(isIdle ? [subagentsTool.name] : [])];
}

/** Executes a call of one of the runner's own tools. */
export async function callOwnTool(call: CallState, context: RunContext): Promise<CallStep> {
  const { callId, tool, input } = call.part;
  switch (tool) {
    case askUserTool.name:
      return parkedOr(callId, tool, readQuestion(input, context.now()));
    case waitTool.name:
      return parkedOr(callId, tool, readTimer(input, context.now()));
    case agentTool.name:
      return giveTask(call, context);
    case subagentsTool.name:
      return lookAfterChildren(callId, input, context);
    default:
      return failure(callId, "unknown_tool", `the runner has no tool ${tool}`);
  }
}

async function giveTask(call: CallState, context: RunContext): Promise<CallStep> {
  const { callId, tool, input } = call.part;
  const read = AgentToolInput.safeParse(input);
  if (!read.success) return badArguments(callId, tool, read.error);
  const { agent = context.run.state.started.agent, task, wait, model } = read.data;
  const request = { callId, agent, input: task, wait, ...(model && { model }) };
  return startAllowedChild(call, request, context);
}

async function lookAfterChildren(
  callId: string,
  input: unknown,
  { run, controls, now }: RunContext,
): Promise<CallOutcome> {
  const read = SubagentsInput.safeParse(input);
  if (!read.success) return badArguments(callId, subagentsTool.name, read.error);
  const { children, started } = run.state;
  if (read.data.action === "list") return ownResult(callId, listOfChildren(children), false);
  const { run: childRunId } = read.data;
  const child = children.find((known) => known.childRunId === childRunId);
  if (child === undefined) return ownResult(callId, `you have started no run ${childRunId}`, true);
  if (child.end !== null)
    return ownResult(callId, `run ${childRunId} has ${child.end.status}`, true);
  const at = new Date(now()).toISOString();
  const by = started.requester;
  if (read.data.action === "kill") {
    const reason = `its parent, run ${started.runId}, ended it`;
    const outcome = await controls.cancel({ runId: childRunId, by, at, reason, command: callId });
    return ownResult(callId, `kill: ${outcome}`, outcome === "not_allowed");
  }
  const { message } = read.data;
  const outcome = await controls.append({
    runId: childRunId,
    entry: { kind: "steered", at, by, message },
    by,
    expected: null,
    command: callId,
  });
  if (outcome === "unknown")
    return ownResult(callId, "steer: the run has not begun yet; say it again in a moment", true);
  const isSaid = outcome === "taken" || outcome === "known";
  return ownResult(callId, isSaid ? "steer: accepted" : `steer: the run is ${outcome}`, !isSaid);
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

/** Reads the arguments of the tool; a returned text describes an error in them. */
function readTimer(args: unknown, now: number): Wait | string {
  const read = WaitInput.safeParse(args);
  if (!read.success)
    return read.error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`).join("; ");
  return { reason: "timer", until: new Date(now + read.data.seconds * 1_000).toISOString() };
}

/** The list as a model reads it. */
function listOfChildren(children: readonly ChildState[]): string {
  const runs = children.map(({ childRunId, agent, end }) => ({
    run: childRunId,
    agent,
    status: end?.status ?? "running",
  }));
  return JSON.stringify({ runs });
}

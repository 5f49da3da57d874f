import { isError, ServiceError } from "@switchyard/contracts/errors";
import { MAX_TOOL_LAYERS } from "@switchyard/contracts/policy/run-token";
import { renderSkill } from "@switchyard/contracts/skill-importer/skills";
import { forkOf, startAllowedChild } from "../waits/start-child.ts";
import { answerRunTool } from "../core/run-tools.ts";
import { isCutOff, isUnsent, type CallState } from "../core/run-state.ts";
import { suspendOnOutage } from "../context/service-clients.ts";
import type { RunContext } from "../context/run-context.ts";
import { RunStopped } from "../core/interruption.ts";
import { finishWait, isWantedAgain, stillWaiting } from "../waits/finish-wait.ts";
import { callOwnTool } from "../waits/own-tools.ts";
import {
  failure,
  type CallStep,
  answered,
  failed,
  type CallOutcome,
} from "../core/call-outcome.ts";
import { callAgain, callServerTool, type CallContext } from "../context/tool-call.ts";
import { isArguments, type ToolCallPart } from "../core/answer-part.ts";
import { routeOf, type ToolCatalogue, SkillToolInput } from "../core/tool-catalogue.ts";
import { hasChanged } from "../core/tool-print.ts";
import { hasRoomFor, narrowingOf } from "../core/tool-narrowing.ts";

/**
 * Executes a call. When a service that it needs is down, the run is suspended; a call that still waits for an approval after the end of its
 * wait has failed.
 */
export async function routeCall(
  call: CallState,
  tools: ToolCatalogue,
  context: RunContext,
): Promise<CallStep> {
  const step = await suspendOnOutage(context.signal, () => executeCall(call, tools, context));
  return stillWaiting(call, step, context.now());
}

/** Routes a call to the component that executes it: the run itself, the runner, a skill's text, a provider. */
async function executeCall(
  call: CallState,
  tools: ToolCatalogue,
  context: RunContext,
): Promise<CallStep> {
  const { run, clients } = context;
  const { part, wait } = call;
  const { callId, tool, input } = part;
  const { state } = run;
  const isRepeated = wait?.reason === "approval" || isWantedAgain(call);
  if (wait !== null && !isRepeated) return finishWait(call, state.children);
  const inside = answerRunTool(call, state, tools.hidden ?? []);
  if (inside !== null) return inside;
  const route = routeOf(tool, tools);
  if (route.to === "nobody") {
    const offered = tools.offered.map(({ name }) => name).join(", ") || "none";
    return failure(callId, "unknown_tool", `there is no tool ${tool}; available are ${offered}`);
  }
  if (!isArguments(input)) {
    return failure(callId, "invalid_arguments", `the arguments of ${tool} must be a JSON object`);
  }
  if (isCutOff(call, state)) {
    const said = `your answer broke off before the arguments of ${tool}; call it again if it is still what you want`;
    return failure(callId, "invalid_arguments", said);
  }
  if (route.to === "own") return callOwnTool(call, context);
  if (route.to === "skill") {
    const fork = await forkOf(call, state, clients);
    return fork === null ? callSkillTool(part, context) : startAllowedChild(call, fork, context);
  }
  if (isUnsent(call) && hasChanged(tool, tools, state.shownTools)) {
    const said = `${tool} is not what you were shown any more; look at it again and repeat the call if it is still what you want`;
    return failure(callId, "tool_changed", said);
  }
  return callProvider(call, { ...route, args: input }, context);
}

async function callProvider(
  call: CallState,
  to: {
    readonly server: string | null;
    readonly isListed: boolean;
    readonly args: Record<string, unknown>;
  },
  context: RunContext,
): Promise<CallStep> {
  const { part, dispatched, wait } = call;
  const { callId, tool } = part;
  if (!dispatched) await context.run.note({ kind: "tool-dispatched", callId });
  const { server, isListed, args } = to;
  const { onUnknownOutcome = "fail" } = context.run.state.started;
  const mayHaveRun = context.run.wasSent(callId) && !isUnsent(call);
  const request = { callId, server, tool, args, isListed, onUnknownOutcome, mayHaveRun };
  const isAgain = isWantedAgain(call) || (wait?.reason === "approval" && wait.again === true);
  context.run.noteSent(callId);
  try {
    return await (isAgain ? callAgain(request, context) : callServerTool(request, context));
  } catch (error) {
    // The call is sent as a new one when the stop is lifted, and may be denied then like any other.
    if (error instanceof RunStopped && !error.mayHaveRun) context.run.noteNotMade(callId);
    throw error;
  }
}

/** Activates a skill: the importer renders it, and its text is the result of the call. */
async function callSkillTool(
  { callId, input: args }: ToolCallPart,
  { run, clients, signal, now }: CallContext,
): Promise<CallOutcome> {
  const { started, narrowings } = run.state;
  const { catalogue, toolLayers, runId, session } = started;
  const input = SkillToolInput.safeParse(args);
  if (!input.success) {
    const problems = input.error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`);
    return failure(callId, "invalid_arguments", `skill: ${problems.join("; ")}`);
  }
  const pinned = catalogue.find((skill) => skill.name === input.data.name);
  if (pinned === undefined) {
    const known = catalogue.map((skill) => skill.name).join(", ") || "none";
    return answered(callId, {
      text: `there is no skill ${input.data.name}; available are ${known}`,
      isError: true,
    });
  }
  const startedAt = now();
  try {
    const rendered = await clients.renderSkill(
      {
        name: pinned.name,
        digest: pinned.digest,
        arguments: input.data.arguments,
        sessionId: session?.sessionId ?? runId,
      },
      { signal, correlationId: runId },
    );
    const durationMs = Math.max(0, now() - startedAt);
    const { text, name, digest } = rendered;
    const narrowing = narrowingOf(rendered);
    if (narrowing !== null && !hasRoomFor(narrowing, toolLayers, narrowings)) {
      const said = `skill ${name} leaves out other tools than all skills before it, and a run keeps ${MAX_TOOL_LAYERS} such lists at most; start a run with this skill`;
      return failure(callId, "too_many_restrictions", said);
    }
    return answered(callId, {
      text,
      isError: false,
      durationMs,
      skill: { name, digest },
      ...(narrowing === null ? {} : { narrowing }),
    });
  } catch (error) {
    signal.throwIfAborted();
    if (isError(error, renderSkill, "unknown_skill")) {
      return answered(callId, {
        text: `skill ${pinned.name} is not there any more`,
        isError: true,
      });
    }
    if (error instanceof ServiceError) return failed(callId, error);
    throw error;
  }
}

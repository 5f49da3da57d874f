import { forkOf, startAllowedChild } from "../waits/start-child.ts";
import { answerRunTool } from "../core/run-tools.ts";
import { isCutOff, isUnsent, type CallState } from "../core/run-state.ts";
import { suspendOnOutage } from "../context/service-clients.ts";
import type { RunContext } from "../context/run-context.ts";
import { RunStopped } from "../core/interruption.ts";
import { finishWait, isWantedAgain, stillWaiting } from "../waits/finish-wait.ts";
import { callOwnTool } from "../waits/own-tools.ts";
import { failure, type CallStep } from "../core/call-outcome.ts";
import { callSkillTool } from "../context/skill-call.ts";
import { callAgain, callServerTool } from "../context/tool-call.ts";
import { isArguments } from "../core/answer-part.ts";
import { routeOf, type ToolCatalogue } from "../core/tool-catalogue.ts";
import { hasChanged } from "../core/tool-print.ts";

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

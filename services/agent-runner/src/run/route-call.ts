import type { Bus } from "@switchyard/bus/connect";
import type { ExecutionAudit } from "@switchyard/service/audit/execution-audit";
import { createAgentGate } from "../children/agent-gate.ts";
import { forkOf } from "../children/fork-of.ts";
import { startAllowedChild } from "../children/start-child.ts";
import { answerRunTool } from "../core/run-tools.ts";
import type { JournalEntry, WithoutTime } from "../core/journal-entry.ts";
import type { CallState } from "../core/run-state.ts";
import type { Peers } from "../peers/peers.ts";
import type { ActiveRun } from "../journal/active-run.ts";
import { deadlineOf } from "../core/next-action.ts";
import { orSuspend } from "../peers/or-suspend.ts";
import type { RunControls } from "../journal/run-controls.ts";
import type { RunTokenKeeper } from "../tools/run-token-keeper.ts";
import { finishWait, isWantedAgain, stillWaiting } from "../waits/finish-wait.ts";
import { callOwnTool, type OwnToolCaller } from "./own-tools.ts";
import { failure, type CallStep } from "../core/call-outcome.ts";
import type { ToolCaller } from "../tools/send-call.ts";
import { callSkillTool } from "../tools/skill-call.ts";
import { callAgain, callServerTool } from "../tools/tool-call.ts";
import { isArguments } from "../core/answer-part.ts";
import { isCutOff, isUnsent } from "../core/sendable-call.ts";
import { routeOf, type ToolCatalogue } from "../core/tool-catalogue.ts";
import { hasChanged } from "../core/tool-print.ts";

export interface RouteOptions {
  readonly run: ActiveRun;
  readonly bus: Bus;
  readonly peers: Peers;
  readonly tokens: RunTokenKeeper;
  readonly controls: RunControls;
  readonly executions: ExecutionAudit;
  readonly signal: AbortSignal;
  readonly record: (entry: WithoutTime<JournalEntry>) => Promise<void>;
  readonly now: () => number;
}

/** Brings a call to whoever carries it out: the run itself, the runner, a skill's text, a provider. */
export async function routeCall(
  call: CallState,
  tools: ToolCatalogue,
  options: RouteOptions,
): Promise<CallStep> {
  const { run, peers, signal, now } = options;
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
  if (route.to === "own") {
    const own = ownCallerOf(options);
    const step = await orSuspend(signal, () => callOwnTool(call, own));
    return stillWaiting(call, step, now());
  }
  if (route.to === "skill") {
    const fork = await orSuspend(signal, () => forkOf(call, state, peers));
    if (fork !== null) {
      const own = ownCallerOf(options);
      const step = await orSuspend(signal, () => startAllowedChild(call, fork, own));
      return stillWaiting(call, step, now());
    }
    const { catalogue, toolLayers } = state.started;
    const { narrowings } = state;
    const asked = { callId, args: input, catalogue, toolLayers, narrowings };
    return callSkillTool(asked, callerOf(options));
  }
  if (isUnsent(call) && hasChanged(tool, tools, state.shownTools)) {
    const said = `${tool} is not what you were shown any more; look at it again and repeat the call if it is still what you want`;
    return failure(callId, "tool_changed", said);
  }
  return callProvider(call, { ...route, args: input }, options);
}

function ownCallerOf(options: RouteOptions): OwnToolCaller {
  const { run, bus, controls, now } = options;
  const gate = createAgentGate({ ...options, runId: run.state.started.runId });
  return { run, bus, controls, now, gate };
}

async function callProvider(
  call: CallState,
  to: {
    readonly server: string | null;
    readonly isListed: boolean;
    readonly args: Record<string, unknown>;
  },
  options: RouteOptions,
): Promise<CallStep> {
  const { part, dispatched, wait } = call;
  const { callId, tool } = part;
  if (!dispatched) await options.record({ kind: "tool-dispatched", callId });
  const { server, isListed, args } = to;
  const { onUnknownOutcome = "fail" } = options.run.state.started;
  const mayHaveRun = options.run.wasSent(callId) && !isUnsent(call);
  const request = { callId, server, tool, args, isListed, onUnknownOutcome, mayHaveRun };
  const isAgain = isWantedAgain(call) || (wait?.reason === "approval" && wait.again === true);
  const caller = callerOf(options);
  options.run.noteSent(callId);
  const step = await (isAgain ? callAgain(request, caller) : callServerTool(request, caller));
  return stillWaiting(call, step, options.now());
}

/**
 * What ends a call at the run's time limit is the run, which says so. A call whose own time ended with it, or a moment
 * before, would be told to the model as failed, and the run could come to its end as if nothing had been.
 */
const BEYOND_LIMIT_MS = 5_000;

function callerOf({ run, bus, peers, tokens, signal, now }: RouteOptions): ToolCaller {
  const { state, hold } = run;
  return {
    bus,
    peers,
    tokens,
    runId: state.started.runId,
    epoch: Number(hold.epoch),
    signal,
    deadline: deadlineOf(state) + BEYOND_LIMIT_MS,
    now,
  };
}

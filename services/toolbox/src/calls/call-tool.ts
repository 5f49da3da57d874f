import type { z } from "zod";
import { failuresOf } from "@switchyard/contracts/errors";
import { ToolName } from "@switchyard/contracts/ids";
import type { Decision, Principal } from "@switchyard/contracts/policy";
import { builtinToolRef, type ToolRef } from "@switchyard/contracts/tool-names";
import {
  BUILTIN_TIERS,
  builtinNamed,
  type BuiltinName,
  callBuiltin as contract,
} from "@switchyard/contracts/toolbox";
import { callFingerprint } from "@switchyard/service/tool-provider/call-fingerprint";
import {
  NotSentError,
  type CallOnce,
  type OnceResult,
} from "@switchyard/service/tool-provider/call-once";
import { CallStoreError, type CallOutcome } from "@switchyard/service/tool-provider/call-store";
import { asAllowed, type ApprovalGate } from "@switchyard/service/tool-provider/approval-gate";
import { withHeldPlaces } from "@switchyard/service/tool-provider/held-places";
import type { AskedFor, PolicyGate } from "@switchyard/service/tool-provider/policy-gate";
import type { RunEpochs } from "@switchyard/service/tool-provider/run-epochs";
import type { RunningCalls } from "@switchyard/service/tool-provider/running-calls";
import type { StopWatch } from "@switchyard/service/tool-provider/stop-watch";
import type { Tool } from "../tool.ts";
import type { Workspaces } from "../workspace/workspaces.ts";
import { runTool, type ToolRun } from "./run-tool.ts";

type CallRequest = z.output<typeof contract.request>;
type CallReply = z.input<typeof contract.reply>;

export interface CallToolDeps {
  readonly tools: ReadonlyMap<BuiltinName, Tool>;
  readonly workspaces: Workspaces;
  readonly gate: PolicyGate;
  readonly approvals: ApprovalGate;
  readonly stops: StopWatch;
  readonly once: CallOnce;
  readonly running: RunningCalls;
  readonly epochs: RunEpochs;
  /** Aborts when the service has to stop and cannot wait any longer. */
  readonly stopping: AbortSignal;
  readonly now: () => number;
}

const fail = failuresOf(contract.errors);

/**
 * One call: find the tool → read the arguments → ask the policy → claim the `callId` → use the approval, if
 * it needs one → do it. The policy is asked about the arguments as they will be used, with the defaults of those left out, and
 * it is asked before a stored result is given too: it may have changed since.
 */
export async function callTool(
  deps: CallToolDeps,
  request: CallRequest,
  asked: AskedFor,
): Promise<CallReply> {
  try {
    return await withHeldPlaces(deps.gate, asked, (holding) =>
      decideAndCall(deps, request, holding),
    );
  } catch (error) {
    if (error instanceof NotSentError) throw error.reply;
    if (error instanceof CallStoreError) throw storeUnavailable(error);
    throw error;
  }
}

async function decideAndCall(
  deps: CallToolDeps,
  request: CallRequest,
  asked: AskedFor,
): Promise<CallReply> {
  const { callId } = request;
  const { tool, ref, args } = await readCall(deps, request, asked);
  const { decision, principal } = await notDenied(deps.gate, { ref, args }, asked);
  await refuseStale(deps.epochs, request, principal);
  const call: DecidedCall = { request, asked, tool, ref, args, decision, principal };
  if (callId === undefined) {
    const outcome = await perform(deps, call, { signal: asked.signal, isCancelled: never });
    return outcomeReply(outcome, { decision: asAllowed(decision), replayed: false });
  }
  const fingerprint = callFingerprint({ caller: asked.onBehalfOf, principal, ref, args });
  const owner = { callId, caller: asked.onBehalfOf, principal, token: asked.token, ref };
  const result = await deps.once.run(callId, { fingerprint, ref }, async () => {
    const running = deps.running.begin(owner, asked.signal);
    try {
      return await perform(deps, call, {
        signal: running.signal,
        isCancelled: () => running.isCancelled,
      });
    } finally {
      running.end();
    }
  });
  return onceReply(result, { callId, decision: asAllowed(decision) });
}

const never = (): boolean => false;

interface DecidedCall extends ReadCall {
  readonly request: CallRequest;
  readonly asked: AskedFor;
  readonly decision: Decision;
  readonly principal: Principal;
}

/** Until here nothing has been done. */
function perform(
  deps: CallToolDeps,
  call: DecidedCall,
  { signal: outer, isCancelled }: Pick<ToolRun, "signal" | "isCancelled">,
): Promise<CallOutcome> {
  const { request, asked, tool, ref, args, decision, principal } = call;
  const { callId, approvalId } = request;
  const { token, deadline } = asked;
  return deps.stops.during({ principal, ref, token }, outer, (signal) => {
    const run: ToolRun = { tool, args, principal, callId, deadline, signal, isCancelled };
    if (decision.effect === "allow") return runTool(deps, run);
    const toApprove = { asked, principal, decision, ref, pin: undefined, args, callId, approvalId };
    return deps.approvals.send(toApprove, () => runTool(deps, run));
  });
}

interface ReadCall {
  readonly tool: Tool;
  readonly ref: ToolRef;
  readonly args: Record<string, unknown>;
}

/** Who may not call a tool is told just that, whether there is one and whatever its arguments. */
async function readCall(
  { tools, gate }: CallToolDeps,
  request: CallRequest,
  asked: AskedFor,
): Promise<ReadCall> {
  const name = builtinNamed(request.tool);
  const tool = name === null ? undefined : tools.get(name);
  if (tool === undefined) {
    if (ToolName.safeParse(request.tool).success)
      await notDenied(gate, { ref: builtinToolRef(request.tool), args: request.args }, asked);
    const known = Object.keys(BUILTIN_TIERS);
    throw fail.unknown_tool(
      `There is no built-in tool ${JSON.stringify(request.tool)}; there are ${known.join(", ")}.`,
      { tool: request.tool, known },
    );
  }
  const ref = builtinToolRef(tool.name);
  const args = tool.input.safeParse(request.args);
  if (args.success) return { tool, ref, args: args.data };
  await notDenied(gate, { ref, args: request.args }, asked);
  const problems = args.error.issues.slice(0, MAX_PROBLEMS).map(({ path, message }) => ({
    pointer: path.map((part) => `/${String(part)}`).join(""),
    expected: message,
  }));
  const shown = problems.map(({ pointer, expected }) => `${pointer || "/"}: ${expected}`);
  throw fail.invalid_arguments(
    `The arguments do not fit ${tool.name}: ${shown.join("; ")}. Nothing was done.`,
    { problems },
  );
}

const MAX_PROBLEMS = 20;

/** The decision, which is to allow it or to ask a person; a denial is thrown. */
async function notDenied(
  gate: PolicyGate,
  question: { readonly ref: ToolRef; readonly args: Record<string, unknown> },
  asked: AskedFor,
): Promise<{ decision: Decision; principal: Principal }> {
  const decided = await gate.check(question, asked);
  const { decision } = decided;
  if (decision.effect !== "deny") return decided;
  throw fail.denied(`The policy denies ${question.ref.name}: ${decision.reason}`, decision);
}

/** An epoch is believed only of the run that the token is of. */
async function refuseStale(
  epochs: RunEpochs,
  { epoch }: CallRequest,
  { runId }: Principal,
): Promise<void> {
  if (epoch === undefined || runId === null) return;
  if (await epochs.admit(runId, epoch)) return;
  throw fail.stale_epoch(
    `Another runner has taken run ${runId} over since epoch ${epoch}; nothing was done. Stop working on the run.`,
    { runId, epoch },
  );
}

function onceReply(
  result: OnceResult,
  { callId, decision }: { callId: string; decision: Decision },
): CallReply {
  switch (result.kind) {
    case "outcome":
      return outcomeReply(result.outcome, { decision, replayed: result.replayed });
    case "conflict":
      throw fail.call_id_conflict(
        `callId ${callId} belongs to another call (other caller, tool or arguments); use a new one.`,
        { callId },
      );
    case "unknown":
      throw fail.outcome_unknown(
        `An earlier call with callId ${callId} was begun and its result was lost. It may or may not have happened.`,
        { callId },
      );
    default:
      return result satisfies never;
  }
}

function outcomeReply(
  outcome: CallOutcome,
  { decision, replayed }: { decision: Decision; replayed: boolean },
): CallReply {
  if (outcome.kind === "result") return { ...outcome.result, decision, replayed };
  throw new TypeError(`a built-in tool has no outcome ${outcome.kind}`);
}

function storeUnavailable(error: CallStoreError) {
  return fail.call_store_unavailable(
    `A call with a callId cannot be made safely now, and was not made: ${error.message}; try again when Redis is up.`,
    { cause: error.message },
  );
}

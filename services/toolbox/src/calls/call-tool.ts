import type { z } from "zod";
import type { FairPlaces } from "@switchyard/bus/fair-places";
import { failuresOf } from "@switchyard/contracts/errors";
import { ToolName } from "@switchyard/contracts/ids";
import type { Decision, Principal } from "@switchyard/contracts/policy";
import { builtinToolRef, type ToolRef } from "@switchyard/contracts/tool-names";
import {
  builtinNamed,
  type BuiltinName,
  callBuiltin as contract,
} from "@switchyard/contracts/toolbox";
import type { ExecutedCall, ExecutionAudit } from "@switchyard/service/audit/execution-audit";
import {
  knownOutcome,
  refuseStale,
  withRefusals,
} from "@switchyard/service/tool-provider/call-refusals";
import { callFingerprint } from "@switchyard/service/tool-provider/call-fingerprint";
import {
  whileArriving,
  type ArrivingCall,
  type ArrivingCalls,
} from "@switchyard/service/tool-provider/arriving-calls";
import { NotSentError, type CallOnce } from "@switchyard/service/tool-provider/call-once";
import type { CallOutcome } from "@switchyard/service/tool-provider/call-store";
import {
  asAllowed,
  type ApprovalGate,
  type Passed,
} from "@switchyard/service/tool-provider/approval-gate";
import type { Decided } from "@switchyard/service/tool-provider/decision-cache";
import { withHeldPlaces } from "@switchyard/service/tool-provider/held-places";
import { ownCallId } from "@switchyard/service/tool-provider/own-call-id";
import type { AskedFor, PolicyGate } from "@switchyard/service/tool-provider/policy-gate";
import type { RunEpochs } from "@switchyard/service/tool-provider/run-epochs";
import type { RunningCalls } from "@switchyard/service/tool-provider/running-calls";
import type { StopWatch } from "@switchyard/service/tool-provider/stop-watch";
import { visible } from "@switchyard/service/visible-text";
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
  readonly executions: ExecutionAudit;
  readonly stops: StopWatch;
  readonly once: CallOnce;
  readonly running: RunningCalls;
  readonly arriving: ArrivingCalls;
  readonly epochs: RunEpochs;
  /** For calls in work, shared by the users that they are made for. */
  readonly places: FairPlaces;
  readonly placeLimit: number;
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
  return withRefusals(() =>
    withHeldPlaces(deps.gate, asked, (holding) => {
      const { onBehalfOf: caller, token } = asked;
      const call = { callId: request.callId, caller, token, server: null };
      return whileArriving(deps.arriving, call, (arriving) =>
        decideAndCall(deps, request, { asked: holding, arriving }),
      );
    }),
  );
}

function refuseCancelled({ arriving: calls }: CallToolDeps, call: ArrivingCall | null): void {
  if (call === null || !calls.isCancelled(call)) return;
  const { callId } = call;
  throw new NotSentError(
    fail.cancelled("The call was cancelled. Nothing was done.", { callId, sent: false }),
  );
}

async function decideAndCall(
  deps: CallToolDeps,
  request: CallRequest,
  { asked, arriving }: { readonly asked: AskedFor; readonly arriving: ArrivingCall | null },
): Promise<CallReply> {
  const { callId } = request;
  const { tool, ref, args } = await readCall(deps, request, asked);
  const { decision, principal, audit } = await notDenied(deps.gate, { ref, args }, asked);
  await refuseStale(deps.epochs, request, principal);
  refuseCancelled(deps, arriving);
  const call: DecidedCall = {
    request,
    asked,
    tool,
    ref,
    args,
    decision,
    principal,
    decisionRef: audit,
  };
  if (callId === undefined) {
    const outcome = await perform(deps, call, { signal: asked.signal, isCancelled: never });
    return outcomeReply(outcome, { decision: asAllowed(decision), replayed: false });
  }
  const caller = asked.onBehalfOf;
  const fingerprint = callFingerprint({ caller, principal, ref, args });
  const own = ownCallId(caller, callId);
  const owner = { callId: own, caller, principal, token: asked.token, ref };
  const identity = { fingerprint, ref, caller, token: asked.token };
  const result = await deps.once.run(own, identity, async () => {
    refuseCancelled(deps, arriving);
    if (arriving !== null) deps.arriving.end(arriving);
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
  const { outcome, replayed } = knownOutcome(result, callId);
  return outcomeReply(outcome, { decision: asAllowed(decision), replayed });
}

const never = (): boolean => false;

interface DecidedCall extends ReadCall {
  readonly request: CallRequest;
  readonly asked: AskedFor;
  readonly decision: Decision;
  readonly principal: Principal;
  /** The policy's record of the decision. */
  readonly decisionRef: string | undefined;
}

/** Until here nothing has been done. */
function perform(
  deps: CallToolDeps,
  call: DecidedCall,
  { signal: outer, isCancelled }: Pick<ToolRun, "signal" | "isCancelled">,
): Promise<CallOutcome> {
  return withPlace(deps, call.principal.user, () =>
    performNow(deps, call, { signal: outer, isCancelled }),
  );
}

/** Callers share the places, so that nobody takes all of them, whichever service calls for them. */
async function withPlace<T>(
  { places, placeLimit: limit }: CallToolDeps,
  user: string,
  work: () => Promise<T>,
): Promise<T> {
  const refusal = places.take(user, 0);
  if (refusal !== null)
    throw new NotSentError(
      fail.overloaded(
        `The toolbox ${refusal} (YARD_TOOLBOX_CONCURRENCY). Nothing was done; try again shortly.`,
        { limit },
      ),
    );
  try {
    return await work();
  } finally {
    places.leave(user, 0);
  }
}

function performNow(
  deps: CallToolDeps,
  call: DecidedCall,
  { signal: outer, isCancelled }: Pick<ToolRun, "signal" | "isCancelled">,
): Promise<CallOutcome> {
  const { request, asked, tool, ref, args, decision, principal } = call;
  const { callId, approvalId } = request;
  const { token, deadline } = asked;
  return deps.stops.during({ principal, ref, token }, outer, (signal) => {
    const run: ToolRun = { tool, args, principal, callId, deadline, signal, isCancelled };
    const make = (passed: Passed | null) =>
      deps.executions.during(executedCall(call, passed), () => runTool(deps, run));
    if (decision.effect === "allow") return make(null);
    const toApprove = { asked, principal, decision, ref, pin: undefined, args, callId, approvalId };
    return deps.approvals.send(toApprove, make);
  });
}

function executedCall(call: DecidedCall, passed: Passed | null): ExecutedCall {
  const { request, asked, ref, args, principal, decision, decisionRef } = call;
  const { onBehalfOf: caller, correlationId } = asked;
  const made = { caller, principal, ref, pin: undefined, callId: request.callId, args };
  return { ...made, decision, decisionRef, passed, correlationId };
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
    const known = namesOf(tools);
    throw fail.unknown_tool(
      `There is no built-in tool ${JSON.stringify(request.tool)}; there are ${known.join(", ")}.`,
      { tool: request.tool, known },
    );
  }
  const ref = builtinToolRef(tool.name);
  const args = tool.input.safeParse(request.args);
  if (tool.unavailable !== undefined) {
    await notDenied(gate, { ref, args: args.data ?? request.args }, asked);
    throw fail.unknown_tool(tool.unavailable, { tool: request.tool, known: namesOf(tools) });
  }
  if (args.success) return { tool, ref, args: args.data };
  await notDenied(gate, { ref, args: request.args }, asked);
  const problems = args.error.issues.slice(0, MAX_PROBLEMS).map(({ path, message }) => ({
    pointer: visible(path.map((part) => `/${String(part)}`).join(""), MAX_PROBLEM_TEXT),
    // Names of properties that are not known are the caller's own words, and may be of any length.
    expected: visible(message, MAX_PROBLEM_TEXT),
  }));
  const shown = problems.map(({ pointer, expected }) => `${pointer || "/"}: ${expected}`);
  throw fail.invalid_arguments(
    `The arguments do not fit ${tool.name}: ${shown.join("; ")}. Nothing was done.`,
    { problems },
  );
}

function namesOf(tools: CallToolDeps["tools"]): string[] {
  return [...tools.values()].flatMap(({ name, unavailable }) =>
    unavailable === undefined ? [name] : [],
  );
}

const MAX_PROBLEMS = 5;
const MAX_PROBLEM_TEXT = 300;

/** The decision, which is to allow it or to ask a person; a denial is thrown. */
async function notDenied(
  gate: PolicyGate,
  question: { readonly ref: ToolRef; readonly args: Record<string, unknown> },
  asked: AskedFor,
): Promise<Decided> {
  const decided = await gate.check(question, asked);
  const { decision } = decided;
  if (decision.effect !== "deny") return decided;
  throw fail.denied(`The policy denies ${question.ref.name}: ${decision.reason}`, decision);
}

function outcomeReply(
  outcome: CallOutcome,
  { decision, replayed }: { decision: Decision; replayed: boolean },
): CallReply {
  if (outcome.kind === "result") return { ...outcome.result, decision, replayed };
  throw new TypeError(`a built-in tool has no outcome ${outcome.kind}`);
}

import type { z } from "zod";
import type { FairSlots } from "@switchyard/bus/fair-slots";
import { failuresOf } from "@switchyard/contracts/errors";
import { ToolName } from "@switchyard/contracts/ids";
import type { Principal } from "@switchyard/contracts/policy/policy";
import { builtinToolRef, type ToolRef } from "@switchyard/contracts/tool-names";
import {
  builtinNamed,
  type BuiltinName,
  callBuiltin as contract,
} from "@switchyard/contracts/toolbox/toolbox";
import type { ExecutionAudit } from "@switchyard/tool-provider/execution-audit";
import { asAllowed, type ApprovalGate } from "@switchyard/tool-provider/approval-gate";
import type { CallInWork } from "@switchyard/tool-provider/call-in-work";
import { NotSentError, type CallOnce, type Turn } from "@switchyard/tool-provider/call-once";
import { replyOf } from "@switchyard/tool-provider/call-refusals";
import type { CallOutcome, CallStore } from "@switchyard/tool-provider/call-store";
import { claimCall } from "@switchyard/tool-provider/claim-call";
import type { CallsInWork } from "@switchyard/tool-provider/calls-in-work";
import type { Decided } from "@switchyard/tool-provider/decision-cache";
import { executeCall } from "@switchyard/tool-provider/execute-call";
import type { MaskStore } from "@switchyard/tool-provider/mask-store";
import type { Requester, PolicyGate } from "@switchyard/tool-provider/policy-gate";
import { visible } from "@switchyard/service/visible-text";
import { ToolError } from "../tool-error.ts";
import type { Tool } from "../tool.ts";
import type { Workspaces } from "../workspace/workspaces.ts";
import { runTool } from "./run-tool.ts";
import { isClaimant } from "./token-claims.ts";
import { withoutAliases } from "./without-aliases.ts";

type CallRequest = z.output<typeof contract.request>;
type CallReply = z.input<typeof contract.reply>;

export interface CallToolDeps {
  readonly tools: ReadonlyMap<BuiltinName, Tool>;
  readonly workspaces: Workspaces;
  readonly gate: PolicyGate;
  readonly approvals: ApprovalGate;
  readonly executions: ExecutionAudit;
  /** The values behind masks in arguments and results. */
  readonly masks: MaskStore;
  readonly calls: CallsInWork;
  readonly once: CallOnce;
  readonly store: CallStore;
  /** The slots for calls in progress, shared by the users for whom they are made. */
  readonly slots: FairSlots;
  readonly slotLimit: number;
  /** Aborts when the service has to stop and cannot wait any longer. */
  readonly stopping: AbortSignal;
  readonly now: () => number;
}

const fail = failuresOf(contract.errors);

/**
 * Makes one call: find the tool and read the arguments → decide → claim → run → finish. The policy decides about the arguments as
 * they will be used, including defaults, and it also decides before a stored result is returned: it may have changed since.
 */
export async function callTool(
  deps: CallToolDeps,
  request: CallRequest,
  requester: Requester,
): Promise<CallReply> {
  const { callId } = request;
  const call = deps.calls.begin({ requester, callId, server: null });
  let turn: Turn | null = null;
  try {
    const { tool, ref, args } = await readCall(deps, request, call.requester);
    const decided = await notDenied(deps.gate, { ref, args }, call.requester);
    const { decision, principal } = decided;
    call.refuseCancelled();

    const claimed = await claimCall(deps, { request, ref, args }, { requester, decided });
    if (claimed.earlier !== null)
      return outcomeReply(claimed.earlier, { decision: asAllowed(decision), replayed: true });
    turn = claimed.turn;

    call.begin(principal, ref);
    const outcome = await makeCall(deps, request, { call, tool, ref, args, decided });
    await turn?.finish(outcome);
    turn = null;
    return outcomeReply(outcome, { decision: asAllowed(decision), replayed: false });
  } catch (error) {
    const failure = call.failureOf(error);
    await turn?.fail(failure);
    throw replyOf(failure);
  } finally {
    call.end();
  }
}

interface ReadCall {
  readonly tool: Tool;
  readonly ref: ToolRef;
  readonly args: Record<string, unknown>;
}

/** Users share the slots, so that no user takes all of them, whichever service calls for it. */
async function makeCall(
  deps: CallToolDeps,
  request: CallRequest,
  made: ReadCall & { readonly call: CallInWork; readonly decided: Decided },
): Promise<CallOutcome> {
  const { call, tool, ref, args, decided } = made;
  const { callId, approvalId } = request;
  const principal = workerOf(decided.principal, call.requester);
  const refusal = deps.slots.take(principal.user, 0);
  if (refusal !== null) throw new NotSentError(overloaded(refusal, deps.slotLimit));
  try {
    return await executeCall(
      deps,
      { call, ref, pin: undefined, args, callId, approvalId, decided },
      {
        checkBeforeApproval: (sent) =>
          refuseUseless(deps.workspaces, { tool, args: sent, principal }),
        decideAgain: async (changed) => {
          const parsed = tool.input.safeParse(changed);
          if (!parsed.success) throw new NotSentError(misfit(tool.name, parsed.error));
          const again = await deps.gate.check({ ref, args: parsed.data }, call.requester);
          return { args: parsed.data, decided: again };
        },
        send: (sent) =>
          runTool(deps, { tool, args: sent, principal, call, deadline: call.requester.deadline }),
      },
    );
  } finally {
    deps.slots.leave(principal.user, 0);
  }
}

/** Returns the principal for whom a tool works: a claimant is a program of the user, and not the run of the session. */
function workerOf(principal: Principal, requester: Requester): Principal {
  return isClaimant(requester) ? { ...principal, runId: null } : principal;
}

/** Refuses a call that can only fail, so that no person approves it in vain. Rejects with NotSentError, `invalid_arguments`. */
async function refuseUseless(
  workspaces: Workspaces,
  { tool, args, principal }: Pick<ReadCall, "tool" | "args"> & Pick<Decided, "principal">,
): Promise<void> {
  if (tool.check === undefined) return;
  try {
    await tool.check(args, await workspaces.of(principal));
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    const expected = visible(error.message, MAX_PROBLEM_TEXT);
    const refusal = `The call of ${tool.name} can only fail: ${expected} Nothing was done, and no approval was requested.`;
    const problems = [{ pointer: "", expected }];
    throw new NotSentError(fail.invalid_arguments(refusal, { problems }));
  }
}

function overloaded(refusal: string, limit: number) {
  return fail.overloaded(`The toolbox ${refusal}. Nothing was done; try again shortly.`, { limit });
}

/** A caller without permission gets only that refusal, whether the tool exists or not and whatever the arguments are. */
async function readCall(
  { tools, gate }: CallToolDeps,
  request: CallRequest,
  requester: Requester,
): Promise<ReadCall> {
  const name = builtinNamed(request.tool);
  const tool = name === null ? undefined : tools.get(name);
  if (tool === undefined) {
    if (ToolName.safeParse(request.tool).success)
      await notDenied(gate, { ref: builtinToolRef(request.tool), args: request.args }, requester);
    const known = namesOf(tools);
    throw fail.unknown_tool(
      `There is no built-in tool ${JSON.stringify(request.tool)}; there are ${known.join(", ")}.`,
      { tool: request.tool, known },
    );
  }
  const ref = builtinToolRef(tool.name);
  const given = withoutAliases(request.args, tool.aliases);
  const args = tool.input.safeParse(given);
  const missing = tool.unavailable;
  if (missing !== undefined) {
    await notDenied(gate, { ref, args: args.data ?? given }, requester);
    throw fail.tool_unavailable(missing, { tool: request.tool, known: namesOf(tools) });
  }
  if (args.success) return { tool, ref, args: args.data };
  await notDenied(gate, { ref, args: given }, requester);
  throw misfit(tool.name, args.error);
}

function misfit(name: BuiltinName, error: z.ZodError) {
  const problems = error.issues.slice(0, MAX_PROBLEMS).map(({ path, message }) => ({
    pointer: visible(path.map((part) => `/${String(part)}`).join(""), MAX_PROBLEM_TEXT),
    // Names of unknown properties are the caller's own text, and may be of any length.
    expected: visible(message, MAX_PROBLEM_TEXT),
  }));
  const shown = problems.map(({ pointer, expected }) => `${pointer || "/"}: ${expected}`);
  return fail.invalid_arguments(
    `The arguments do not fit ${name}: ${shown.join("; ")}. Nothing was done.`,
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

/** Returns the decision, which allows the call or requires approval; a denial is thrown. */
async function notDenied(
  gate: PolicyGate,
  question: { readonly ref: ToolRef; readonly args: Record<string, unknown> },
  requester: Requester,
): Promise<Decided> {
  const decided = await gate.check(question, requester);
  const { decision } = decided;
  if (decision.effect !== "deny") return decided;
  throw fail.denied(`The policy denies ${question.ref.name}: ${decision.reason}`, decision);
}

function outcomeReply(
  outcome: CallOutcome,
  { decision, replayed }: { decision: Decided["decision"]; replayed: boolean },
): CallReply {
  if (outcome.kind === "result") return { ...outcome.result, decision, replayed };
  throw new TypeError(`a built-in tool has no outcome ${outcome.kind}`);
}

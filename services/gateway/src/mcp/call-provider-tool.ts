import {
  approveCall,
  cancelApproval,
  getApproval,
  listApprovals,
} from "@switchyard/contracts/policy/approvals";
import { ApprovalRequired } from "@switchyard/contracts/policy/approval-record";
import { isError } from "@switchyard/contracts/errors";
import { callTool } from "@switchyard/contracts/mcp-broker/mcp";
import { QuestionId } from "@switchyard/contracts/mcp-broker/mcp-questions";
import { callBuiltin } from "@switchyard/contracts/toolbox/toolbox";
import { inputRequired } from "@modelcontextprotocol/server";
import { howToApprove } from "../agent-runs/run-wait.ts";
import { approvalForm, decide, type ShownCall } from "./approval-form.ts";
import {
  callIdFor,
  callOnce,
  QUESTION,
  questionOf,
  questionWithId,
  type Answer,
  type ProviderTool,
} from "./make-call.ts";
import { errorResult, failedCall, unknownTool } from "./mcp-errors.ts";
import { answerServer } from "./question-form.ts";
import type { ToolCall } from "./tool-call.ts";

const CALL_ID = /^(?:once:)?mcp-[0-9a-f-]{36}$/;
const FORM = "approval";

/**
 * Calls a tool as the requester. When a call needs an approval, or its server asks a question, the client prompts its person if
 * it can and if the requester may decide; otherwise the call waits, the result explains how to decide or answer, and a repeat
 * of the same call finds the outcome.
 */
export async function callProviderTool(tool: ProviderTool, request: ToolCall): Promise<Answer> {
  const { requester, context, abilities } = request;
  const state = stateOf(context.mcpReq.requestState());
  const responses = context.mcpReq.inputResponses ?? {};
  try {
    if (state?.questionId !== undefined) return await answerAndWait(tool, state, request);
    if (state !== null) {
      const why = await decide(requester, state, { responses, key: FORM });
      if (why !== null) return errorResult("approval_required", why);
    }
    const callId = state?.callId ?? callIdFor(tool, request);
    const first = await callOrWait(tool, callId, request);
    if (!isWaiting(first)) return first;
    const earlier = state === null ? await earlierOf(first, request) : null;
    const next =
      earlier?.isApproved === true ? await callOrWait(tool, earlier.callId, request) : first;
    if (!isWaiting(next)) return next;
    const waiting = earlier?.isApproved === false ? { ...next, ...earlier } : next;
    if (abilities.forms && requester.may(approveCall)) {
      const { form, binding } = await approvalForm(requester, waiting.approvalId);
      return inputRequired({
        inputRequests: { [FORM]: form },
        requestState: `${waiting.callId} ${waiting.approvalId} ${binding}`,
      });
    }
    return errorResult(
      "approval_required",
      `nothing was done: the call waits until ${waiting.expiresAt} for a person. ${howToApprove(waiting.approvalId)}. Then make the same call again.`,
    );
  } catch (error) {
    if (isError(error, callTool, "unknown_tool") || isError(error, callBuiltin, "unknown_tool"))
      throw unknownTool(tool.tool);
    return failedCall(error, request.onFault);
  }
}

interface Waiting {
  readonly approvalId: string;
  readonly callId: string;
  readonly expiresAt: string;
}

function isWaiting(answer: Answer | Waiting): answer is Waiting {
  return "approvalId" in answer && typeof answer["approvalId"] === "string";
}

async function callOrWait(
  tool: ProviderTool,
  callId: string,
  request: ToolCall,
): Promise<Answer | Waiting> {
  try {
    return await callOnce(tool, callId, request);
  } catch (error) {
    if (
      !isError(error, callTool, "approval_required") &&
      !isError(error, callBuiltin, "approval_required")
    )
      throw error;
    const { approvalId, expiresAt } = ApprovalRequired.parse(error.data);
    return { approvalId, callId, expiresAt };
  }
}

/** Sends the answer to the server and waits for the call; an answer that does not fit is requested once more. */
async function answerAndWait(
  tool: ProviderTool,
  { callId, questionId }: { readonly callId: string; readonly questionId: string },
  request: ToolCall,
): Promise<Answer> {
  const { parts, requester, context } = request;
  const pending = parts.calls.find({ caller: requester.caller, callId });
  const responses = context.mcpReq.inputResponses ?? {};
  const problem = await answerServer(requester, questionId, { responses, key: QUESTION });
  if (problem !== null) {
    const question = pending?.open ?? (await questionWithId(requester, questionId));
    if (question !== null) return questionOf(question, { callId, request }, problem);
    return errorResult(
      "question_pending",
      `${problem} Answer it with: yard mcp answer ${questionId}`,
    );
  }
  pending?.resume();
  const next = await callOrWait(tool, callId, request);
  return isWaiting(next) ? errorResult("approval_required", howToApprove(next.approvalId)) : next;
}

/** Finds an earlier approval of exactly this call, requested by a client that cannot resume a call. The new approval is cancelled. */
async function earlierOf(
  { approvalId }: Waiting,
  { requester }: ToolCall,
): Promise<(Waiting & { readonly isApproved: boolean }) | null> {
  const { approval } = await requester.ask(getApproval, { id: approvalId });
  const { approvals } = await requester.ask(listApprovals, { pendingOnly: false, limit: 100 });
  const earlier = approvals.find(
    ({ id, binding, state, callId }) =>
      id !== approvalId &&
      binding === approval.binding &&
      (state === "approved" || state === "pending") &&
      CALL_ID.test(callId ?? ""),
  );
  if (earlier === undefined) return null;
  await requester.ask(cancelApproval, { id: approvalId }).catch(() => {}); // An approval that cannot be cancelled expires by its own time limit.
  const { id, callId, expiresAt, state } = earlier;
  return { approvalId: id, callId: callId ?? "", expiresAt, isApproved: state === "approved" };
}

interface Asked {
  readonly callId: string;
  readonly questionId?: undefined;
}

/** The state is not trusted: approvals, questions and calls are bound to their caller and arguments. */
function stateOf(
  state: unknown,
): (ShownCall & Asked) | { readonly callId: string; readonly questionId: string } | null {
  if (typeof state !== "string") return null;
  const [callId = "", about = "", binding] = state.split(" ");
  if (!CALL_ID.test(callId)) return null;
  if (QuestionId.safeParse(about).success) return { callId, questionId: about };
  return /^apr-[0-9a-f]{32}$/.test(about) ? { callId, approvalId: about, binding } : null;
}

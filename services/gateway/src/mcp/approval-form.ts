import { approveCall, denyCall, getApproval } from "@switchyard/contracts/policy/approvals";
import { missingApprovals, votesText } from "@switchyard/contracts/policy/approval-words";
import { ServiceError } from "@switchyard/contracts/errors";
import { inputRequired, inputResponse, type InputRequests } from "@modelcontextprotocol/server";
import { howToApprove } from "../agent-runs/run-wait.ts";
import type { Requester } from "../identity/requester.ts";

type FormRequest = InputRequests[string];

/** A waiting call as it was shown to a person, whose decision has to name both ids. */
export interface ShownCall {
  readonly approvalId: string;
  /** Missing in forms of earlier gateways. */
  readonly binding?: string | undefined;
}

/** Returns the form in which a person decides about a waiting call: its arguments, and the ids that the decision has to name. */
export async function approvalForm(
  requester: Requester,
  approvalId: string,
): Promise<{ readonly form: FormRequest; readonly binding: string }> {
  const { approval, presentation } = await requester.ask(getApproval, { id: approvalId });
  const cut = presentation.isCut ? " (not all of them are shown)" : "";
  const { requirements } = approval;
  const people =
    requirements.length === 0
      ? ""
      : ` It is approved by ${votesText(approval)}; missing: ${missingApprovals(approval).join("; ")}.`;
  const form = inputRequired.elicit({
    message: `${approval.tool.name} wants to be called with ${presentation.args}${cut}. ${approval.why}${people}`,
    requestedSchema: {
      type: "object",
      properties: {
        decision: {
          type: "string",
          title: "Decision",
          enum: ["approve", "deny"],
          description: "approve lets exactly this call happen, once",
        },
        reason: { type: "string", title: "Reason", maxLength: 500 },
      },
      required: ["decision", ...(approval.reasonFor.length === 2 ? ["reason"] : [])],
    },
  });
  return { form, binding: approval.binding };
}

/**
 * Makes the person's decision as the requester, whose right to it the policy checks. Returns null when the call is decided;
 * else one sentence about why it still waits.
 */
export async function decide(
  requester: Requester,
  { approvalId, binding }: ShownCall,
  { responses, key }: { readonly responses: Record<string, unknown>; readonly key: string },
): Promise<string | null> {
  const answer = inputResponse(responses, key);
  const content = answer.kind === "elicit" && answer.action === "accept" ? answer.content : null;
  const decision = content?.["decision"];
  if (decision !== "approve" && decision !== "deny")
    return `no decision; ${howToApprove(approvalId)}`;
  const said = content?.["reason"];
  const reason = typeof said === "string" && said.trim() !== "" ? { reason: said } : {};
  const shown = { id: approvalId, ...(binding !== undefined && { binding }) };
  try {
    if (decision === "deny") {
      await requester.ask(denyCall, { ...shown, ...reason });
      return null;
    }
    const { approval } = await requester.ask(approveCall, { ...shown, ...reason });
    if (approval.state !== "pending") return null;
    return `approved, ${votesText(approval)}; the call still waits for ${missingApprovals(approval).join("; ")}: ${howToApprove(approvalId)}`;
  } catch (error) {
    // Another person was first: the call itself returns the outcome.
    if (error instanceof ServiceError && error.code === "already_ended") return null;
    if (error instanceof ServiceError && REFUSED.has(error.code))
      return `${error.message}; another person has to decide: ${howToApprove(approvalId)}`;
    throw error;
  }
}

const REFUSED = new Set([
  "forbidden_approver",
  "forbidden",
  "unknown_approval",
  "already_voted",
  "reason_required",
]);

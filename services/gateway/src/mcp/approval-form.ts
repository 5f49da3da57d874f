import { approveCall, denyCall, getApproval } from "@switchyard/contracts/approvals";
import { ServiceError } from "@switchyard/contracts/errors";
import { inputRequired, inputResponse, type InputRequests } from "@modelcontextprotocol/server";
import { howToApprove } from "../agent-runs/run-wait.ts";
import type { Requester } from "../identity/requester.ts";

type FormRequest = InputRequests[string];

/** A waiting call as a person is shown it: its decision has to name both. */
export interface ShownCall {
  readonly approvalId: string;
  /** Missing in forms of earlier gateways. */
  readonly binding?: string | undefined;
}

/** The form in which a person decides about a waiting call, with the arguments it is about, and what the decision has to name. */
export async function approvalForm(
  requester: Requester,
  approvalId: string,
): Promise<{ readonly form: FormRequest; readonly binding: string }> {
  const { approval, presentation } = await requester.ask(getApproval, { id: approvalId });
  const cut = presentation.isCut ? " (not all of them are shown)" : "";
  const form = inputRequired.elicit({
    message: `${approval.tool.name} wants to be called with ${presentation.args}${cut}. ${approval.why}`,
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
      required: ["decision"],
    },
  });
  return { form, binding: approval.binding };
}

/**
 * Does what the person decided, as the requester: whether it may is the policy's to say. Null when it is decided; else one
 * sentence about why the call still waits.
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
    return `nobody decided; ${howToApprove(approvalId)}`;
  const said = content?.["reason"];
  const reason = typeof said === "string" && said.trim() !== "" ? { reason: said } : {};
  const shown = { id: approvalId, ...(binding !== undefined && { binding }) };
  try {
    if (decision === "approve") await requester.ask(approveCall, { ...shown, ...reason });
    else await requester.ask(denyCall, { ...shown, ...reason });
    return null;
  } catch (error) {
    // Somebody else was first: the call itself says what became of it.
    if (error instanceof ServiceError && error.code === "already_ended") return null;
    if (error instanceof ServiceError && REFUSED.has(error.code))
      return `${error.message}; somebody else has to decide: ${howToApprove(approvalId)}`;
    throw error;
  }
}

const REFUSED = new Set(["forbidden_approver", "forbidden", "unknown_approval"]);

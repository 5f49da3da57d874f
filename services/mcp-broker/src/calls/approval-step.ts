import type {
  ApprovalGate,
  CallToApprove,
  Passed,
} from "@switchyard/service/tool-provider/approval-gate";
import type { CallOutcome } from "@switchyard/service/tool-provider/call-store";
import { admitCall } from "./call-checks.ts";
import { serverDown, type AllowedCall, type SendDeps } from "./send-call.ts";
import { NotSentError } from "@switchyard/service/tool-provider/call-once";

/**
 * Sends a call with a person's approval. What could not be sent anyway is refused first: nobody
 * is asked about it, and no approval is used up for it.
 */
export function sendApproved(
  { approvals, connection }: Pick<SendDeps, "connection"> & { readonly approvals: ApprovalGate },
  call: AllowedCall & Pick<CallToApprove, "principal" | "decision" | "approvalId">,
  send: (passed: Passed) => Promise<CallOutcome>,
): Promise<CallOutcome> {
  if (connection.session === null) throw new NotSentError(serverDown(connection));
  admitCall(connection.catalogue, call);
  return approvals.send(call, send);
}

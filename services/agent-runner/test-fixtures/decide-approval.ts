import type { Bus } from "@switchyard/bus/bus";
import { publishEvent } from "@switchyard/bus/publish";
import { approvalDecided } from "@switchyard/contracts/policy/approval-events";
import { DIGEST, labTool } from "./fake-services.ts";

/** Publishes, as the policy service, that a call of a run was approved. */
export async function decideApproval(
  policy: Bus,
  {
    approvalId,
    callId,
    tool,
  }: { readonly approvalId: string; readonly callId: string; readonly tool: string },
): Promise<void> {
  const at = new Date().toISOString();
  const decision = {
    by: "cli",
    authenticated: "nats-user" as const,
    scope: "once" as const,
    reason: null,
    at,
  };
  const payload = {
    approvalId,
    tier: "always" as const,
    principal: { user: "cli", agent: "guarded", runId: callId.split(":")[0] ?? "" },
    tool: { name: labTool(tool), server: "lab", tool },
    argsDigest: DIGEST,
    rule: null,
    policyDigest: DIGEST,
    callId,
    at,
    state: "approved" as const,
    decision,
  };
  await publishEvent(policy, approvalDecided, { owner: "cli", id: approvalId }, payload);
}

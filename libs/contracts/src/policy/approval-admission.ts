import { z } from "zod";
import { ApprovalId, ApprovalRequired, ApprovalsUnavailable, GrantId } from "./approval-record.ts";
import { DecisionSignature } from "./audit-signatures.ts";
import { rpc } from "../define.ts";
import { CallerName, Digest } from "../ids.ts";
import { CallId } from "../mcp-broker/mcp-calls.ts";
import { Decision } from "./policy.ts";
import { StopInForce } from "./policy-budgets.ts";
import { RunToken } from "./run-token.ts";
import { ToolRef } from "../tool-names.ts";

/** The facts of a call that a provider has right before it would send it. */
const AskedCall = z.strictObject({
  onBehalfOf: CallerName,
  token: RunToken.optional(),
  tool: ToolRef,
  pin: Digest.optional(),
  /** The arguments exactly as they will be sent. */
  args: z.record(z.string(), z.unknown()),
  callId: CallId.optional(),
  /** Set for a call without a `callId`: the approval that an earlier answer named. */
  approvalId: ApprovalId.optional(),
  /** Set for a call with the changed arguments of this approval, which `edited` named. */
  editOf: ApprovalId.optional(),
  /** The policy's answer, which is `ask`; for changed arguments it may be `allow`. */
  decision: Decision,
  /** Computed by the provider from the call that it is about to send. */
  binding: Digest,
  /**
   * The id of this attempt to send the call: only it can release the approval. A provider that got no answer, and so sent nothing, repeats it;
   * every other attempt has one that was never used before.
   */
  attempt: z.uuid(),
});

/** Called by a tool provider when the policy answered `ask`, as the last step before the call is sent. */
export const admitCall = rpc({
  subject: "yard.rpc.{caller}.approvals.admit",
  summary:
    "Lets a call that needs a person pass by its approval or a grant, or requests an approval.",
  request: AskedCall,
  reply: z.discriminatedUnion("outcome", [
    /** The call must be sent now. `approvalId` is consumed by it; a grant has one use less. */
    z.object({
      outcome: z.literal("passed"),
      approvalId: ApprovalId.nullable(),
      grantId: GrantId.nullable(),
      by: CallerName,
      /** Absent when decisions are not recorded. */
      signed: DecisionSignature.optional(),
    }),
    z.object({ outcome: z.literal("waiting"), ...ApprovalRequired.shape }),
    /** The call must not be sent, now or later. */
    z.object({
      outcome: z.literal("refused"),
      approvalId: ApprovalId.nullable(),
      state: z.enum(["denied", "expired", "cancelled", "consumed", "rate_limited"]),
      reason: z.string(),
      /**
       * Set when an approver changed the arguments of `approvalId`. A provider that knows it requests a decision about these, and admits
       * the call with them and `editOf`; an earlier one does not send the call.
       */
      edited: z.object({ by: CallerName, args: z.record(z.string(), z.unknown()) }).optional(),
      /** Set when a stop refused it: the call may pass once the stop is lifted. */
      stop: StopInForce.optional(),
    }),
  ]),
  errors: {
    invalid_token: { data: z.object({ reason: z.string() }) },
    /** Other rules are in force than those of the decision: request a decision again. */
    policy_changed: { data: z.object({ policyDigest: Digest }) },
    /** Provider and policy have different calls under this approval. */
    binding_mismatch: { data: z.object({ expected: Digest }) },
    approvals_unavailable: ApprovalsUnavailable,
  },
  timeoutMs: 2_000,
});

/** Called by the provider when the call is over. */
export const settleCall = rpc({
  subject: "yard.rpc.{caller}.approvals.settle",
  summary: "Reports the outcome of a call that consumed an approval.",
  request: z.strictObject({
    approvalId: ApprovalId,
    attempt: z.uuid(),
    /** `not_sent` only when it is provable: then the approval is valid again. */
    outcome: z.enum(["executed", "not_sent"]),
    resultDigest: Digest.optional(),
  }),
  reply: z.object({ settled: z.boolean() }),
  errors: { approvals_unavailable: ApprovalsUnavailable },
  timeoutMs: 2_000,
});

import { z } from "zod";
import {
  Approval,
  ApprovalId,
  ApprovalState,
  ApprovalsUnavailable,
  ForbiddenApprover,
  Presentation,
  SessionGrant,
} from "./approval-record.ts";
import { CallContext } from "../agent-runner/call-context.ts";
import { rpc } from "../define.ts";
import { Digest, RunId, Timestamp } from "../ids.ts";

export const MAX_REASON = 500;
const Reason = z
  .string()
  .trim()
  .min(1)
  .max(MAX_REASON)
  // oxlint-disable-next-line no-control-regex -- control characters are what it refuses
  .regex(/^[^\x00-\x1f\x7f-\x9f]+$/u, "must be one line");

const UnknownApproval = { data: z.object({ id: z.string() }) } as const;

/**
 * `binding` of the approval as it was shown to the person who decides. A decision with another one is refused with
 * `binding_mismatch`. Left out, the decision is about whatever call the id names.
 */
const ShownBinding = Digest.optional();

const endErrors = {
  unknown_approval: UnknownApproval,
  forbidden_approver: ForbiddenApprover,
  /** Another caller decided first, its time is over, or the rules changed. */
  already_ended: { data: z.object({ id: z.string(), state: ApprovalState }) },
  approvals_unavailable: ApprovalsUnavailable,
} as const;

const decisionErrors = {
  ...endErrors,
  /** The call that was shown is not the one of this id. Nothing was decided. */
  binding_mismatch: { data: z.object({ expected: Digest }) },
  /** The rule requires a reason for such a decision. Nothing was decided. */
  reason_required: { data: z.object({ id: z.string() }) },
} as const;

export const listApprovals = rpc({
  subject: "yard.rpc.{caller}.approvals.list",
  summary: "Lists approvals that the caller may decide or has asked for, newest first.",
  role: "viewer",
  request: z.strictObject({
    /** Only approvals that wait for a person, unless false. */
    pendingOnly: z.boolean().default(true),
    runId: RunId.optional(),
    limit: z.int().min(1).max(500).default(100),
    /** `next` of the page before. */
    cursor: z.string().max(64).optional(),
  }),
  reply: z.object({
    approvals: z.array(Approval),
    next: z.string().nullable(),
    /** A caller who decides about all calls gets the count of all that wait, and any other caller that of this page. */
    pending: z.int().nonnegative(),
    /** False for a caller who decides about no calls or about some; missing from older policy services. */
    decidesAll: z.boolean().optional(),
  }),
  errors: { approvals_unavailable: ApprovalsUnavailable },
});

export const getApproval = rpc({
  subject: "yard.rpc.{caller}.approvals.get",
  summary: "Shows one approval with the arguments it is about and what its run did before.",
  role: "viewer",
  request: z.strictObject({ id: ApprovalId }),
  reply: z.object({
    approval: Approval,
    presentation: Presentation,
    /** The values behind masks in the arguments, for a caller who may decide about the call and where a rule of it has \`approve: { unmask }\`. */
    unmasked: z.array(z.object({ mask: z.string(), value: z.string() })).optional(),
    /** The arguments that an approver put in their place; left out when there are none. */
    edited: Presentation.optional(),
    /** Null for a call of no run, and while its run cannot be read; missing from older policy services. */
    context: CallContext.nullable().optional(),
  }),
  errors: { unknown_approval: UnknownApproval, approvals_unavailable: ApprovalsUnavailable },
});

export const MAX_APPROVAL_STATES = 500;

/** Meant for services that wait, such as a runner with a parked run: the truth behind the events. */
export const approvalStates = rpc({
  subject: "yard.rpc.{caller}.approvals.states",
  summary: "Returns the states of approvals by id; unknown ones are left out.",
  role: "viewer",
  request: z.strictObject({ ids: z.array(ApprovalId).min(1).max(MAX_APPROVAL_STATES) }),
  reply: z.object({
    approvals: z.array(
      z.object({
        id: ApprovalId,
        state: ApprovalState,
        expiresAt: Timestamp,
        /** True while the caller may decide about it and has not approved it yet; missing from older policy services. */
        mayDecide: z.boolean().optional(),
      }),
    ),
  }),
  errors: { approvals_unavailable: ApprovalsUnavailable },
});

export const approveCall = rpc({
  subject: "yard.rpc.{caller}.approvals.approve",
  summary: "Approves a waiting call, once or for more calls of its kind; some need several people.",
  role: "approver",
  request: z.strictObject({
    id: ApprovalId,
    binding: ShownBinding,
    scope: z.enum(["once", "session"]).default("once"),
    reason: Reason.optional(),
    /** The lifetime of a session grant; never longer than the rule's `ttl`. */
    ttlSeconds: z.int().min(1).max(86_400).optional(),
    maxUses: z.int().min(1).max(10_000).optional(),
    /** Makes this one call with these arguments in place of its own. The rules decide about the changed call. */
    arguments: z.record(z.string(), z.unknown()).optional(),
    /** JSON pointers of a session grant whose values must stay unchanged. */
    sameArguments: z.array(z.string().max(256)).max(20).optional(),
  }),
  reply: z.object({ approval: Approval, grant: SessionGrant.nullable() }),
  errors: {
    ...decisionErrors,
    /** This person has approved it before, or does not count beside those who have; another person is missing. */
    already_voted: { data: z.object({ id: z.string(), by: z.string() }) },
    /** The tier is `always`: each call needs its own. */
    once_only: { data: z.object({ id: z.string() }) },
    /** The arguments of this call cannot be changed. Nothing was decided. */
    not_editable: { data: z.object({ id: z.string(), reason: z.string() }) },
    /** The rules deny the changed call, or require approval by other people. Nothing was decided. */
    edit_refused: {
      data: z.object({ id: z.string(), rule: z.string().nullable(), reason: z.string() }),
    },
    /** A JSON pointer of `sameArguments` is malformed, or finds nothing. */
    bad_pointer: { data: z.object({ pointer: z.string() }) },
  },
});

export const denyCall = rpc({
  subject: "yard.rpc.{caller}.approvals.deny",
  summary: "Denies a waiting call; the agent gets the reason.",
  role: "approver",
  request: z.strictObject({ id: ApprovalId, binding: ShownBinding, reason: Reason.optional() }),
  reply: z.object({ approval: Approval }),
  errors: decisionErrors,
});

export const cancelApproval = rpc({
  subject: "yard.rpc.{caller}.approvals.cancel",
  summary: "Cancels the request for an approval; the call is not made.",
  role: "operator",
  request: z.strictObject({ id: ApprovalId, reason: Reason.optional() }),
  reply: z.object({ approval: Approval }),
  errors: endErrors,
});

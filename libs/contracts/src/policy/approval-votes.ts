import { z } from "zod";
import { CallerName, Timestamp } from "../ids.ts";

/** The people who have to approve a waiting call, and those who have approved it so far. Only the policy service writes either. */

/**
 * The proof of the approver's identity: `nats-user` is the server's permission to publish as that user, `user-token` is the policy
 * service's verification for the gateway, `chat-link` is the link of a person in a chat, which the caller made.
 */
export const Authentication = z.enum(["nats-user", "user-token", "policy-service", "chat-link"]);

/** An approval counts for this call, or for more of its kind. */
export const ApprovalScope = z.enum(["once", "session"]);

/** The limits that an approver sets for a standing approval; null: those of the rule. */
export const GrantTerms = z.object({
  ttlMs: z.int().positive().nullable(),
  maxUses: z.int().positive().nullable(),
  /** JSON pointers of arguments whose values must stay the same. */
  sameArguments: z.array(z.string()),
});
export type GrantTerms = z.infer<typeof GrantTerms>;

/** One person's approval of a call that may need several. A denial is no vote: it ends the approval. */
export const ApprovalVote = z.object({
  by: CallerName,
  /** The person for whom a deputy approved; null for an approver of the rule. */
  standsFor: z.string().nullable(),
  authenticated: Authentication,
  /** True when the person may approve such calls by setting, role or `approvers`, and so counts where no rule names people. */
  isApprover: z.boolean(),
  scope: ApprovalScope,
  /** With the scope `session`. */
  terms: GrantTerms.nullable(),
  reason: z.string().nullable(),
  at: Timestamp,
});
export type ApprovalVote = z.infer<typeof ApprovalVote>;

/** `approve` of rules that match the call. Those that name the same people are one requirement with the highest count. */
export const ApprovalRequirement = z.object({
  /** The ids of the rules that require it. */
  rules: z.array(z.string()),
  /** The people as the rules name them, such as `group:security`; null: everybody who may approve calls. */
  from: z.array(z.string()).nullable(),
  /** `from` with the members of its groups: globs over user names. Empty when `from` is null. */
  users: z.array(z.string()),
  count: z.int().positive(),
  /** The people who have approved and count for it. */
  approved: z.int().nonnegative(),
  /** True when the requester of the call does not count. */
  notRequester: z.boolean(),
  /** From then on the people of `to` count, too; null when no others are added. */
  escalatesAt: Timestamp.nullable(),
  to: z.array(z.string()),
  /** `to` with the members of its groups. */
  toUsers: z.array(z.string()),
  /** Set when the rules let no approver change the arguments. */
  isFixed: z.literal(true).optional(),
});
export type ApprovalRequirement = z.infer<typeof ApprovalRequirement>;

/** The part of an approval that several people decide. An approval of an earlier version needs one person. */
export const approvalVoting = {
  /** Empty: one person who may approve calls is enough. All of them have to be met. */
  requirements: z.array(ApprovalRequirement).default([]),
  votes: z.array(ApprovalVote).default([]),
  /** The approvals that all requirements need together; one person may count for several requirements. */
  needed: z.int().positive().default(1),
  /** The decisions that need a reason. */
  reasonFor: z.array(z.enum(["approvals", "denials"])).default([]),
  /** The next time at which other people are added; null when no more are. */
  escalatesAt: Timestamp.nullable().default(null),
};

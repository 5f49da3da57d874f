import { z } from "zod";
import { canonicalDigest } from "../canonical-json.ts";
import { ChannelName } from "../channels/channel-address.ts";
import { CallerName, Digest, Timestamp } from "../ids.ts";
import { CallId } from "../mcp-broker/mcp-calls.ts";
import { ApprovalTier } from "./approval-tier.ts";
import {
  ApprovalRequirement,
  ApprovalScope,
  approvalVoting,
  Authentication,
} from "./approval-votes.ts";
import { type Decision, Principal } from "./policy.ts";
import { ToolRef } from "../tool-names.ts";

/**
 * A tool call that the policy answers with `ask` waits for a person. The policy service stores the approval; the tool provider calls it
 * right before it sends the call. An approval is bound to the digest of exactly one call, and its id is a name, not a permission.
 */

export const ApprovalId = z.string().regex(/^apr-[0-9a-f]{32}$/, "must look like apr-0123abcd…");
export const GrantId = z.string().regex(/^grt-[0-9a-f]{32}$/, "must look like grt-0123abcd…");

/**
 * `pending` → `approved` | `denied` | `expired` | `cancelled`, and `approved` → `consumed` once, or `expired` when it was not consumed in
 * time. A call that was provably not sent releases a consumed one.
 */
export const ApprovalState = z.enum([
  "pending",
  "approved",
  "denied",
  "expired",
  "cancelled",
  "consumed",
]);
export type ApprovalState = z.infer<typeof ApprovalState>;

/** The tiers that need a person. */
export const AskedTier = ApprovalTier.exclude(["auto"]);
export type AskedTier = z.infer<typeof AskedTier>;

/**
 * The harm that the call could do, so that an approver can look at the riskiest first. It decides nothing. A record of an earlier
 * version has none; its call counts as one of unknown risk.
 */
export const Risk = z.enum(["low", "medium", "high"]).default("medium");
export type Risk = z.infer<typeof Risk>;

/** Data of the error `approval_required` that every tool provider declares. */
export const ApprovalRequired = z.object({
  approvalId: ApprovalId,
  /** It cannot be approved from then on. */
  expiresAt: Timestamp,
  tier: AskedTier,
});
export type ApprovalRequired = z.infer<typeof ApprovalRequired>;

export const ApprovalDecision = z.object({
  /**
   * The NATS user; `policy` when the policy service did it, such as after a change of the rules. Of several people who approved, the
   * last one; `votes` lists all of them.
   */
  by: CallerName,
  authenticated: Authentication,
  /** The channel of a decision in a chat, such as `telegram`. */
  via: ChannelName.optional(),
  /** For an approval: for this call, or for more of its kind. */
  scope: ApprovalScope.nullable(),
  reason: z.string().nullable(),
  at: Timestamp,
});
export type ApprovalDecision = z.infer<typeof ApprovalDecision>;

/** The execution of a consumed approval. `unknown`: the provider has not reported its end, so the call may have happened. */
export const Execution = z.enum(["executed", "unknown"]);

/** The arguments that an approver put in the place of those of the request. The call is made with them, and with no others. */
export const ApprovalEdit = z.object({
  by: CallerName,
  at: Timestamp,
  /** Digest of the changed arguments. */
  argsDigest: Digest,
  /** {@link bindingDigest} of the call with the changed arguments. */
  binding: Digest,
});
export type ApprovalEdit = z.infer<typeof ApprovalEdit>;

export const Approval = z.object({
  id: ApprovalId,
  state: ApprovalState,
  tier: AskedTier,
  risk: Risk,
  /** See {@link bindingDigest}. */
  binding: Digest,
  principal: Principal,
  /** The NATS user that called the tool provider. */
  caller: CallerName,
  tool: ToolRef,
  pin: Digest.nullable(),
  argsDigest: Digest,
  rule: z.string().nullable(),
  /** The reason why the policy requests approval. */
  why: z.string(),
  policyDigest: Digest,
  callId: CallId.nullable(),
  /** The longest session grant that the rule allows, in milliseconds; null when the rule does not limit it. */
  grantTtlMs: z.int().positive().nullable(),
  requestedAt: Timestamp,
  /** The end of the time to decide; for an approved one, of the time to consume it. `now == expiresAt` is too late. */
  expiresAt: Timestamp,
  decision: ApprovalDecision.nullable(),
  /** Left out when the arguments are those of the request. */
  edit: ApprovalEdit.optional(),
  ...approvalVoting,
  consumedAt: Timestamp.nullable(),
  /** Null until it is consumed. */
  execution: Execution.nullable(),
  resultDigest: Digest.nullable(),
});
export type Approval = z.infer<typeof Approval>;

/** One position at which the arguments differ from those of the last approved call of the same tool. */
export const ArgumentChange = z.object({
  pointer: z.string(),
  /** Canonical JSON as in {@link Presentation}; null when there was, or is, nothing. */
  before: z.string().nullable(),
  after: z.string().nullable(),
});
export type ArgumentChange = z.infer<typeof ArgumentChange>;

/**
 * The arguments in the form that a person sees: all of them, but of a credential-shaped value only length and digest (`[redacted 40 chars
 * sha256:ab12…]`), and invisible characters are written as `\u{…}`.
 */
export const Presentation = z.object({
  /** Canonical JSON. */
  args: z.string(),
  /** The size of the whole arguments. */
  argsBytes: z.int().nonnegative(),
  /** True when `args` is not all of them. An approver then approves content that is not shown. */
  isCut: z.boolean(),
  hasHiddenCharacters: z.boolean(),
  hasRedactions: z.boolean(),
  /** Null when no earlier call of the tool was approved for this agent or user. */
  changes: z.array(ArgumentChange).max(50).nullable(),
});
export type Presentation = z.infer<typeof Presentation>;

/** A standing approval for calls of the tier `session`. */
export const SessionGrant = z.object({
  id: GrantId,
  principal: Principal,
  tool: ToolRef,
  pin: Digest.nullable(),
  rule: z.string().nullable(),
  policyDigest: Digest,
  /** JSON pointers: their values must be those of the approved call. */
  sameArguments: z.array(z.string()),
  approvalId: ApprovalId,
  grantedBy: CallerName,
  grantedAt: Timestamp,
  expiresAt: Timestamp,
  usesLeft: z.int().nonnegative(),
  /** Those of its approval: the people whom they name may see and revoke it. */
  requirements: z.array(ApprovalRequirement).default([]),
});
export type SessionGrant = z.infer<typeof SessionGrant>;

/** The error of every rpc about approvals while Redis is away. */
export const ApprovalsUnavailable = {
  data: z.object({ cause: z.string() }),
  retryable: true,
} as const;

/** The caller may not decide: not in the setting, or it is its own call. */
export const ForbiddenApprover = {
  data: z.object({ caller: z.string(), setting: z.string() }),
} as const;

/**
 * The digest that an approval is bound to: SHA-256 of the canonical JSON of the principal, the tool, its definition and arguments, the rule
 * and the policy. Another value of any of them is another call.
 */
export function bindingDigest(call: {
  readonly principal: z.infer<typeof Principal>;
  readonly caller: string;
  readonly tool: ToolRef;
  readonly pin: string | undefined;
  readonly args: Readonly<Record<string, unknown>>;
  readonly decision: Pick<z.infer<typeof Decision>, "policyDigest" | "rule" | "tier">;
}): string {
  const { principal, caller, tool, pin, args, decision } = call;
  return canonicalDigest({
    v: 1,
    op: "tools/call",
    agentId: principal.agent,
    onBehalfOf: principal.user,
    caller,
    runId: principal.runId,
    server: tool.server,
    tool: tool.tool,
    toolName: tool.name,
    toolPin: pin ?? null,
    args,
    policyDigest: decision.policyDigest,
    ruleId: decision.rule,
    tier: decision.tier ?? null,
  });
}

import { z } from "zod";
import { canonicalDigest } from "./canonical-json.ts";
import { command, event, rpc } from "./define.ts";
import { CallerName, Digest, RunId, Timestamp } from "./ids.ts";
import { CallId } from "./mcp-calls.ts";
import { ApprovalTier, Decision, Principal } from "./policy.ts";
import { RunToken } from "./run-token.ts";
import { ToolRef } from "./tool-names.ts";

/**
 * A tool call that the policy answers with `ask` waits for a person. The policy service keeps the
 * approval; the tool provider asks it right before it sends the call. An approval is bound to the
 * digest of exactly one call, and its id is a name, not a permission.
 */

export const ApprovalId = z.string().regex(/^apr-[0-9a-f]{32}$/, "must look like apr-0123abcd…");
export const GrantId = z.string().regex(/^grt-[0-9a-f]{32}$/, "must look like grt-0123abcd…");

/**
 * `pending` → `approved` | `denied` | `expired` | `cancelled`, and `approved` → `consumed` once, or
 * `expired` when nobody consumed it in time. A call that was provably not sent gives a consumed one back.
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

/** Data of the error `approval_required` that every tool provider declares. */
export const ApprovalRequired = z.object({
  approvalId: ApprovalId,
  /** Nobody can approve it from then on. */
  expiresAt: Timestamp,
  tier: AskedTier,
});
export type ApprovalRequired = z.infer<typeof ApprovalRequired>;

/** How the identity of who decided is known: `nats-user` is the server's permission to publish as that user. */
export const Authentication = z.enum(["nats-user", "policy-service"]);

export const ApprovalDecision = z.object({
  /** The NATS user; `policy` when the policy service did it, such as after a change of the rules. */
  by: CallerName,
  authenticated: Authentication,
  /** For an approval: for this call, or for more of its kind. */
  scope: z.enum(["once", "session"]).nullable(),
  reason: z.string().nullable(),
  at: Timestamp,
});
export type ApprovalDecision = z.infer<typeof ApprovalDecision>;

/** What became of a consumed approval. `unknown`: the provider has not told, so the call may have happened. */
export const Execution = z.enum(["executed", "unknown"]);

export const Approval = z.object({
  id: ApprovalId,
  state: ApprovalState,
  tier: AskedTier,
  /** See {@link bindingDigest}. */
  binding: Digest,
  principal: Principal,
  /** The NATS user that called the tool provider. */
  caller: CallerName,
  tool: ToolRef,
  pin: Digest.nullable(),
  argsDigest: Digest,
  rule: z.string().nullable(),
  /** Why the policy asks. */
  why: z.string(),
  policyDigest: Digest,
  callId: CallId.nullable(),
  /** How long a session grant may last by the rule, in milliseconds; null when the rule does not say. */
  grantTtlMs: z.int().positive().nullable(),
  requestedAt: Timestamp,
  /** The end of the time to decide; for an approved one, of the time to consume it. `now == expiresAt` is too late. */
  expiresAt: Timestamp,
  decision: ApprovalDecision.nullable(),
  consumedAt: Timestamp.nullable(),
  /** Null until it is consumed. */
  execution: Execution.nullable(),
  resultDigest: Digest.nullable(),
});
export type Approval = z.infer<typeof Approval>;

/** One place where the arguments differ from those of the last approved call of the same tool. */
export const ArgumentChange = z.object({
  pointer: z.string(),
  /** Canonical JSON as in {@link Presentation}; null when there was, or is, nothing. */
  before: z.string().nullable(),
  after: z.string().nullable(),
});
export type ArgumentChange = z.infer<typeof ArgumentChange>;

/** What a person sees of the arguments: secrets are redacted, and what cannot be seen stands as `\u{…}`. */
export const Presentation = z.object({
  /** Canonical JSON. */
  args: z.string(),
  /** Of the whole arguments. */
  argsBytes: z.int().nonnegative(),
  /** True when `args` is not all of them. Who approves then approves what cannot be seen. */
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
});
export type SessionGrant = z.infer<typeof SessionGrant>;

export const MAX_REASON = 500;
const Reason = z
  .string()
  .trim()
  .min(1)
  .max(MAX_REASON)
  .regex(/^[^\p{Cc}]+$/u, "must be one line");

const Unavailable = { data: z.object({ cause: z.string() }), retryable: true } as const;
const UnknownApproval = { data: z.object({ id: z.string() }) } as const;

const decisionErrors = {
  unknown_approval: UnknownApproval,
  /** The caller may not decide this one: not in the setting, or it is its own call. */
  forbidden_approver: { data: z.object({ caller: z.string(), setting: z.string() }) },
  /** Somebody was first, its time is over, or the rules changed. */
  already_ended: { data: z.object({ id: z.string(), state: ApprovalState }) },
  approvals_unavailable: Unavailable,
} as const;

export const listApprovals = rpc({
  subject: "yard.rpc.{caller}.approvals.list",
  summary: "Lists approvals that the caller may decide or has asked for, newest first.",
  request: z.strictObject({
    /** Only those that wait for a person, unless false. */
    pendingOnly: z.boolean().default(true),
    runId: RunId.optional(),
    limit: z.int().min(1).max(500).default(100),
    /** `next` of the page before. */
    cursor: z.string().max(64).optional(),
  }),
  reply: z.object({
    approvals: z.array(Approval),
    next: z.string().nullable(),
    /** All that wait, whoever may decide them. */
    pending: z.int().nonnegative(),
  }),
  errors: { approvals_unavailable: Unavailable },
});

export const getApproval = rpc({
  subject: "yard.rpc.{caller}.approvals.get",
  summary: "Shows one approval with the arguments it is about.",
  request: z.strictObject({ id: ApprovalId }),
  reply: z.object({ approval: Approval, presentation: Presentation }),
  errors: { unknown_approval: UnknownApproval, approvals_unavailable: Unavailable },
});

export const MAX_APPROVAL_STATES = 500;

/** For who waits, such as a runner with a parked run: the truth behind the events. */
export const approvalStates = rpc({
  subject: "yard.rpc.{caller}.approvals.states",
  summary: "Tells the states of approvals by id; one that is not known is left out.",
  request: z.strictObject({ ids: z.array(ApprovalId).min(1).max(MAX_APPROVAL_STATES) }),
  reply: z.object({
    approvals: z.array(z.object({ id: ApprovalId, state: ApprovalState, expiresAt: Timestamp })),
  }),
  errors: { approvals_unavailable: Unavailable },
});

export const approveCall = rpc({
  subject: "yard.rpc.{caller}.approvals.approve",
  summary: "Approves a waiting call, once or for more calls of its kind.",
  request: z.strictObject({
    id: ApprovalId,
    scope: z.enum(["once", "session"]).default("once"),
    reason: Reason.optional(),
    /** Of a session grant; never longer than the rule's `ttl`. */
    ttlSeconds: z.int().min(1).max(86_400).optional(),
    maxUses: z.int().min(1).max(10_000).optional(),
    /** Of a session grant: JSON pointers whose values must stay as they are. */
    sameArguments: z.array(z.string().max(256)).max(20).optional(),
  }),
  reply: z.object({ approval: Approval, grant: SessionGrant.nullable() }),
  errors: {
    ...decisionErrors,
    /** The tier is `always`: each call needs its own. */
    once_only: { data: z.object({ id: z.string() }) },
    /** A JSON pointer of `sameArguments` is none, or leads nowhere. */
    bad_pointer: { data: z.object({ pointer: z.string() }) },
  },
});

export const denyCall = rpc({
  subject: "yard.rpc.{caller}.approvals.deny",
  summary: "Denies a waiting call; the reason is told to the agent.",
  request: z.strictObject({ id: ApprovalId, reason: Reason.optional() }),
  reply: z.object({ approval: Approval }),
  errors: decisionErrors,
});

export const cancelApproval = rpc({
  subject: "yard.rpc.{caller}.approvals.cancel",
  summary: "Takes the request for an approval back; the call does not happen.",
  request: z.strictObject({ id: ApprovalId, reason: Reason.optional() }),
  reply: z.object({ approval: Approval }),
  errors: decisionErrors,
});

/** What a provider knows of a call right before it would send it. */
const AskedCall = z.strictObject({
  onBehalfOf: CallerName,
  token: RunToken.optional(),
  tool: ToolRef,
  pin: Digest.optional(),
  /** Exactly as they will be sent. */
  args: z.record(z.string(), z.unknown()),
  callId: CallId.optional(),
  /** For a call without a `callId`: the approval it was told to wait for. */
  approvalId: ApprovalId.optional(),
  /** The policy's answer, which is `ask`. */
  decision: Decision,
  /** By the provider, from what it is about to send. */
  binding: Digest,
  /** Of this attempt to send the call, never used before: only it can give the approval back. */
  attempt: z.uuid(),
});

/** Asked by a tool provider when the policy said `ask`, as the last thing before the call is sent. */
export const admitCall = rpc({
  subject: "yard.rpc.{caller}.approvals.admit",
  summary: "Lets an asked call pass by consuming its approval or using a grant, or asks a person.",
  request: AskedCall,
  reply: z.discriminatedUnion("outcome", [
    /** The call must be sent now. `approvalId` is consumed by it; a grant has one use less. */
    z.object({
      outcome: z.literal("passed"),
      approvalId: ApprovalId.nullable(),
      grantId: GrantId.nullable(),
      by: CallerName,
    }),
    z.object({ outcome: z.literal("waiting"), ...ApprovalRequired.shape }),
    /** The call must not be sent, now or later. */
    z.object({
      outcome: z.literal("refused"),
      approvalId: ApprovalId.nullable(),
      state: z.enum(["denied", "expired", "cancelled", "consumed", "rate_limited"]),
      reason: z.string(),
    }),
  ]),
  errors: {
    invalid_token: { data: z.object({ reason: z.string() }) },
    /** Other rules are in force than those that the decision is of: ask for a decision again. */
    policy_changed: { data: z.object({ policyDigest: Digest }) },
    /** Provider and policy do not mean the same call. */
    binding_mismatch: { data: z.object({ expected: Digest }) },
    approvals_unavailable: Unavailable,
  },
  timeoutMs: 2_000,
});

/** Told by the provider when the call is over. */
export const settleCall = rpc({
  subject: "yard.rpc.{caller}.approvals.settle",
  summary: "Tells what became of a call that consumed an approval.",
  request: z.strictObject({
    approvalId: ApprovalId,
    attempt: z.uuid(),
    /** `not_sent` only when it is provable: then the approval is as good as before. */
    outcome: z.enum(["executed", "not_sent"]),
    resultDigest: Digest.optional(),
  }),
  reply: z.object({ settled: z.boolean() }),
  errors: { approvals_unavailable: Unavailable },
  timeoutMs: 2_000,
});

export const listGrants = rpc({
  subject: "yard.rpc.{caller}.grants.list",
  summary: "Lists standing approvals that the caller may revoke or profits from.",
  request: z.strictObject({ limit: z.int().min(1).max(500).default(100) }),
  reply: z.object({ grants: z.array(SessionGrant) }),
  errors: { approvals_unavailable: Unavailable },
});

export const revokeGrant = rpc({
  subject: "yard.rpc.{caller}.grants.revoke",
  summary: "Ends a standing approval; later calls are asked for again.",
  request: z.strictObject({ id: GrantId }),
  reply: z.object({ grant: SessionGrant }),
  errors: {
    unknown_grant: { data: z.object({ id: z.string() }) },
    forbidden_approver: decisionErrors.forbidden_approver,
    approvals_unavailable: Unavailable,
  },
});

/** Comes when the time of an approval is over, see `decisions/013-timers.md`. */
export const expireApproval = command({
  subject: "yard.cmd.{caller}.approval.expire.{id}",
  summary: "Looks whether the time of an approval is over.",
  payload: z.strictObject({ id: ApprovalId }),
});

/** Arguments are never part of an event: `approvals.get` has them for who may see them. */
const facts = {
  approvalId: ApprovalId,
  tier: AskedTier,
  principal: Principal,
  tool: ToolRef,
  argsDigest: Digest,
  rule: z.string().nullable(),
  policyDigest: Digest,
  callId: CallId.nullable(),
  at: Timestamp,
};

export const approvalRequested = event({
  subject: "yard.evt.approval.{id}.requested",
  summary: "A tool call waits for a person.",
  payload: z.object({ ...facts, expiresAt: Timestamp }),
});

export const approvalDecided = event({
  subject: "yard.evt.approval.{id}.decided",
  summary: "A waiting call was approved, denied or cancelled.",
  payload: z.object({
    ...facts,
    state: z.enum(["approved", "denied", "cancelled"]),
    decision: ApprovalDecision,
  }),
});

export const approvalExpired = event({
  subject: "yard.evt.approval.{id}.expired",
  summary: "Nobody decided about a waiting call in time, or nobody made an approved one.",
  payload: z.object(facts),
});

export const approvalConsumed = event({
  subject: "yard.evt.approval.{id}.consumed",
  summary: "A tool provider is about to send an approved call.",
  payload: z.object({ ...facts, provider: CallerName }),
});

export const grantIssued = event({
  subject: "yard.evt.grant.{id}.issued",
  summary: "A person approved more calls of one kind.",
  payload: z.object({ grant: SessionGrant, at: Timestamp }),
});

export const grantRevoked = event({
  subject: "yard.evt.grant.{id}.revoked",
  summary: "A standing approval was ended before its time.",
  payload: z.object({ grant: SessionGrant, by: CallerName, reason: z.string(), at: Timestamp }),
});

/**
 * What an approval is bound to: SHA-256 of the canonical JSON of who acts, on what, with which
 * definition and arguments, by which rule of which policy. Another value of any of them is another call.
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

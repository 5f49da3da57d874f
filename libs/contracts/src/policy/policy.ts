import { z } from "zod";
import { AuditRef } from "./audit-ref.ts";
import { DecisionSignature } from "./audit-signatures.ts";
import { ApprovalTier } from "./approval-tier.ts";
import { rpc } from "../define.ts";
import { FindingCounts, Inspection } from "./findings.ts";
import { AgentName, CallerName, Digest, RunId, ServerId, ToolName } from "../ids.ts";
import { StopInForce } from "./policy-budgets.ts";
import { RunContext } from "../agent-runner/run-context.ts";
import { RoleName, RunToken } from "./run-token.ts";
import { ToolRef } from "../tool-names.ts";

/** The subject of a decision. `agent` and `runId` are null when a person or a program calls a tool directly. */
export const Principal = z.object({
  user: CallerName,
  agent: AgentName.nullable(),
  runId: RunId.nullable(),
  /** The agent's roles, from the run token; absent when it has none or there is no token. */
  roles: z.array(RoleName).optional(),
  /** The least approval that each call of the agent needs from people, from the run token; absent: the rules alone decide. */
  approval: ApprovalTier.optional(),
  /** The origin of the run, from the run token; absent when the token has none or there is no token. */
  context: RunContext.optional(),
});
export type Principal = z.infer<typeof Principal>;

/** One answer of the policy, with the facts that explain it later. */
export const Decision = z.object({
  /** `ask` is not `allow`: the call may happen only with an approval of the tier, and never without. */
  effect: z.enum(["allow", "deny", "ask"]),
  /** The rule that decided, or null when no rule matched. */
  rule: z.string().nullable(),
  reason: z.string(),
  policyDigest: Digest,
  /** `auto` with `allow`, `session` or `always` with `ask`; absent with `deny`, and from older policy services. */
  tier: ApprovalTier.optional(),
  /** With `ask` of the tier `session`: for how long one approval may stay valid, in milliseconds. */
  ttlMs: z.int().positive().optional(),
  /** With `ask`: the rules whose `approve` states who has to approve the call. All of them count. */
  approveRules: z.array(z.string()).optional(),
  /** The number of findings of each kind in the arguments, where a rule looks for them. */
  found: FindingCounts.optional(),
  /** With `allow` and `ask`: what the provider does with the result and with masks in the arguments; absent: nothing. */
  inspection: Inspection.optional(),
  /** With `deny`: an administrator stopped such calls, and the rules were not evaluated. The call may pass once the stop is lifted. */
  stop: StopInForce.optional(),
});
export type Decision = z.infer<typeof Decision>;

/**
 * The caller of the tool provider: the `{caller}` token of the request that the provider serves. The provider guarantees it, and only
 * providers may request decisions.
 */
const OnBehalfOf = CallerName;

const InvalidToken = { data: z.object({ reason: z.string() }) };

/**
 * The requested access: a call of a tool, or another feature or request of an MCP server. Then `tool` contains, beside the server, the
 * resource's URI, the prompt's name, or the kind itself.
 */
export const AccessKind = z.enum([
  "tool",
  "resource",
  "prompt",
  "sampling",
  "elicitation",
  "logging",
]);
export type AccessKind = z.infer<typeof AccessKind>;

/** A label of a tool or of a server, assigned by its administrator. */
export const ToolLabel = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9-]{0,31}$/,
    "must be 1-32 characters of a-z 0-9 -, starting with a letter or digit",
  );
export const MAX_LABELS = 16;

/** The facts that the administrator of a server has declared; never the server's own claims. */
export const ServerFacts = z.strictObject({
  /** The `tags` of its declaration. */
  labels: z.array(ToolLabel).max(MAX_LABELS).optional(),
  /** `allowedAgentRoles`: agents with one of them may use it; absent means every agent. */
  roles: z.array(RoleName).max(64).optional(),
  /** `enabledTools`: globs over the server's own names; absent means every tool. */
  enabledTools: z.array(z.string().min(1).max(256)).max(256).optional(),
});
export type ServerFacts = z.infer<typeof ServerFacts>;

/**
 * The policy promises not to bring another revision into force for `forMs` milliseconds after it answered, so a provider that counts them
 * from before the request is never late.
 */
const Cacheable = z.object({ revision: z.string(), forMs: z.int().positive() });

/** Called by a tool provider before every call. */
export const checkPolicy = rpc({
  subject: "yard.rpc.{caller}.policy.check",
  summary: "Decides whether this principal may call this tool with these arguments.",
  request: z.strictObject({
    onBehalfOf: OnBehalfOf,
    token: RunToken.optional(),
    kind: AccessKind.default("tool"),
    tool: ToolRef,
    args: z.record(z.string(), z.unknown()),
    /** The digest of the tool's definition (see `mcp-pins.ts`), for rules and approvals that are bound to exactly this tool. */
    pin: Digest.optional(),
    /** The facts about the tool's server, from the provider's own registry. */
    server: ServerFacts.optional(),
  }),
  reply: z.object({
    decision: Decision,
    principal: Principal,
    /** The epoch of the claim that the run token was minted for: a call with an older one than the run's current one is refused. */
    epoch: z.int().positive().optional(),
    /** Present when any arguments would get this decision, as long as the revision is in force. */
    cacheable: Cacheable.optional(),
    /**
     * Present when the call counts against a limit of calls at a time or in a window of a rule: the provider releases it with `policy.release`
     * when the call is over, and states when it was not made. It expires after a while.
     */
    reservation: z.string().max(200).optional(),
    /** The record of this decision in the audit; absent when decisions are not recorded. */
    audit: AuditRef.optional(),
    /** Present for a decision that is recorded and no denial. The provider stores it in its own record of the call. */
    signed: DecisionSignature.optional(),
  }),
  errors: {
    invalid_token: InvalidToken,
    /** The decision cannot be recorded now, so none is made. */
    audit_unavailable: { data: z.object({ cause: z.string() }), retryable: true },
    /** The stops in force cannot be read, so nothing passes now; that is not a decision about the call. */
    stops_unknown: { data: z.null(), retryable: true },
  },
  timeoutMs: 2_000,
});

/** Called when tools are listed: a tool that no call could use is not shown. */
export const filterPolicy = rpc({
  subject: "yard.rpc.{caller}.policy.filter",
  summary: "Names the tools of a list that this principal may call with at least some arguments.",
  request: z.strictObject({
    onBehalfOf: OnBehalfOf,
    token: RunToken.optional(),
    kind: AccessKind.default("tool"),
    tools: z.array(ToolRef).max(20_000),
    /** By server id, for the servers of `tools`. */
    servers: z.record(ServerId, ServerFacts).optional(),
  }),
  reply: z.object({
    allowed: z.array(ToolName),
    policyDigest: Digest,
    /** The principal that was resolved; missing from an older policy service. */
    principal: Principal.optional(),
    /** Present when the same list would get this answer, as long as the revision is in force. */
    cacheable: Cacheable.optional(),
    /** The stop that denies everything that this principal could call; one of a server only shortens the list. */
    stopped: StopInForce.optional(),
  }),
  errors: {
    invalid_token: InvalidToken,
    /** The stops in force cannot be read, so nothing passes now; that is no reason to show an empty list. */
    stops_unknown: { data: z.null(), retryable: true },
  },
  /** Filtering 20,000 tools takes a while on a busy machine. */
  timeoutMs: 5_000,
  // Only services send it: the lists of tools are theirs.
  limits: { maxKeys: 100_000, maxValues: 130_000 },
});

import { z } from "zod";
import { rpc } from "./define.ts";
import { AgentName, CallerName, RunId } from "./ids.ts";
import { ApprovalTier } from "./approval-tier.ts";
import { Decision, Principal, ServerFacts } from "./policy.ts";
import { RunContext } from "./run-context.ts";
import { MAX_ROLES, RoleName } from "./run-token.ts";
import { ToolRef } from "./tool-names.ts";

/** One part of a rule that a call does not meet. */
export const RuleMismatch = z.object({
  /** `what.tools`, `what.labels`, `who.agents`, `who.users`, `who.roles`, `who.channels`, `who.groups`, or `when[0]`. */
  part: z.string(),
  /** What the rule wants, as text; a long one is cut. */
  expected: z.string(),
  /** What the call has, as text; a long one is cut. */
  got: z.string(),
});
export type RuleMismatch = z.infer<typeof RuleMismatch>;

export const ConsideredRule = z.object({
  rule: z.string(),
  effect: z.enum(["allow", "deny"]),
  match: z.boolean(),
  /** The first part that does not fit; null when the rule matches. */
  failed: RuleMismatch.nullable(),
  /** How much a person has to do with a call that this rule allows; absent for deny rules. */
  tier: ApprovalTier.optional(),
});
export type ConsideredRule = z.infer<typeof ConsideredRule>;

/** Something beside the rules that narrows what a principal may call, and what it says of this call. */
export const ConsideredLimit = z.object({
  kind: z.enum(["stop", "server", "token", "layer", "owner", "sub-agent", "flow", "budget"]),
  name: z.string(),
  /** False when it keeps the call out, or makes it ask. */
  passes: z.boolean(),
  detail: z.string(),
});
export type ConsideredLimit = z.infer<typeof ConsideredLimit>;

/** More rules than this are counted, not listed. */
export const MAX_CONSIDERED_RULES = 500;

/**
 * Asked by people and their programs, never by tool providers: it tells what the rules say about
 * any user and agent, and permits nothing. What an agent's own definition leaves out is not in it.
 */
export const explainPolicy = rpc({
  subject: "yard.rpc.{caller}.policy.explain",
  summary: "Shows rule by rule how the policy decides about a tool call; it permits nothing.",
  role: "viewer",
  request: z.strictObject({
    user: CallerName,
    /** Left out: the user calls the tool without an agent. */
    agent: AgentName.optional(),
    roles: z.array(RoleName).max(MAX_ROLES).optional(),
    context: RunContext.optional(),
    /** What the agent's definition says under `approval`. */
    approval: ApprovalTier.optional(),
    /** What the run's token would let pass, such as the agent's own `tools`. */
    toolLayers: z
      .array(z.array(z.string().min(1).max(256)).max(256))
      .max(16)
      .optional(),
    /** Left out: what a provider said last about the tool's server. */
    server: ServerFacts.optional(),
    /** Counts and flow labels of this run are shown. */
    runId: RunId.optional(),
    tool: ToolRef,
    args: z.record(z.string(), z.unknown()),
  }),
  reply: z.object({
    decision: Decision,
    principal: Principal,
    tool: ToolRef,
    /** The tool's labels: of its server and of the bundle. */
    labels: z.array(z.string()).optional(),
    /** Everything beside the rules that is about this call. */
    limits: z.array(ConsideredLimit).max(200).optional(),
    /** Matching rules first, then those that fail latest. */
    considered: z.array(ConsideredRule).max(MAX_CONSIDERED_RULES),
    /** Rules of the bundle that are not in `considered`. */
    omitted: z.int().nonnegative(),
    /** For a denial that no allow rule opposes: the allow rule that needs the fewest changes, with all of them. */
    nearest: z.object({ rule: z.string(), failed: z.array(RuleMismatch) }).nullable(),
  }),
  timeoutMs: 5_000,
});

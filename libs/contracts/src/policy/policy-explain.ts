import { z } from "zod";
import { rpc } from "../define.ts";
import { AgentName, CallerName, RunId } from "../ids.ts";
import { ApprovalTier } from "./approval-tier.ts";
import { Decision, Principal, ServerFacts } from "./policy.ts";
import { RunContext } from "../agent-runner/run-context.ts";
import { MAX_ROLES, RoleName } from "./run-token.ts";
import { ToolRef } from "../tool-names.ts";

/** One part of a rule that a call does not meet. */
export const RuleMismatch = z.object({
  /** `what.tools`, `what.labels`, `who.agents`, `who.users`, `who.roles`, `who.channels`, `who.groups`, or `when[0]`. */
  part: z.string(),
  /** The value that the rule requires, as text; a long one is cut. */
  expected: z.string(),
  /** The value that the call has, as text; a long one is cut. */
  got: z.string(),
});
export type RuleMismatch = z.infer<typeof RuleMismatch>;

export const ConsideredRule = z.object({
  rule: z.string(),
  effect: z.enum(["allow", "deny"]),
  match: z.boolean(),
  /** The first part that does not fit; null when the rule matches. */
  failed: RuleMismatch.nullable(),
  /** The part of a person in a call that this rule allows; absent for deny rules. */
  tier: ApprovalTier.optional(),
});
export type ConsideredRule = z.infer<typeof ConsideredRule>;

/** A limit beside the rules that narrows what a principal may call, and its result for this call. */
export const ConsideredLimit = z.object({
  kind: z.enum([
    "stop",
    "server",
    "token",
    "layer",
    "owner",
    "sub-agent",
    "flow",
    "budget",
    "window",
  ]),
  name: z.string(),
  /** False when it denies the call, or makes it ask. */
  passes: z.boolean(),
  detail: z.string(),
});
export type ConsideredLimit = z.infer<typeof ConsideredLimit>;

/** More rules than this are counted, not listed. */
export const MAX_CONSIDERED_RULES = 500;

/**
 * Called by people and their programs, never by tool providers: it reveals the rules' result for any user and agent, and permits nothing.
 * Limits of an agent's own definition are not included.
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
    /** The value of `approval` in the agent's definition. */
    approval: ApprovalTier.optional(),
    /** The tool patterns of the run's token, such as the agent's own `tools`. */
    toolLayers: z
      .array(z.array(z.string().min(1).max(256)).max(256))
      .max(16)
      .optional(),
    /** Left out: the last facts that a provider sent about the tool's server. */
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

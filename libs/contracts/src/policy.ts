import { z } from "zod";
import { event, rpc } from "./define.ts";
import { AgentName, CallerName, Digest, RunId, ServerId, Timestamp, ToolName } from "./ids.ts";
import { RunToken } from "./run-token.ts";
import { builtinToolRef, mcpToolRef, parseToolPattern, ToolRef } from "./tool-names.ts";

/** Who a decision is about. `agent` and `runId` are null when a person or a program calls a tool directly. */
export const Principal = z.object({
  user: CallerName,
  agent: AgentName.nullable(),
  runId: RunId.nullable(),
});
export type Principal = z.infer<typeof Principal>;

/** One answer of the policy, with what is needed to explain it later. */
export const Decision = z.object({
  effect: z.enum(["allow", "deny"]),
  /** The rule that decided, or null when no rule matched. */
  rule: z.string().nullable(),
  reason: z.string(),
  policyDigest: Digest,
});
export type Decision = z.infer<typeof Decision>;

/**
 * The caller of the tool provider: the `{caller}` token of the request that the provider serves.
 * The provider vouches for it, and only providers may ask for decisions.
 */
const OnBehalfOf = CallerName;

const InvalidToken = { data: z.object({ reason: z.string() }) };

/** Asked by a tool provider before every call. */
export const checkPolicy = rpc({
  subject: "yard.rpc.{caller}.policy.check",
  summary: "Decides whether this principal may call this tool with these arguments.",
  request: z.strictObject({
    onBehalfOf: OnBehalfOf,
    token: RunToken.optional(),
    tool: ToolRef,
    args: z.record(z.string(), z.unknown()),
  }),
  reply: z.object({ decision: Decision, principal: Principal }),
  errors: { invalid_token: InvalidToken },
  timeoutMs: 2_000,
});

/** Asked when tools are listed: a tool that no call could use is not shown. */
export const filterPolicy = rpc({
  subject: "yard.rpc.{caller}.policy.filter",
  summary: "Names the tools of a list that this principal may call with at least some arguments.",
  request: z.strictObject({
    onBehalfOf: OnBehalfOf,
    token: RunToken.optional(),
    tools: z.array(ToolRef).max(20_000),
  }),
  reply: z.object({ allowed: z.array(ToolName), policyDigest: Digest }),
  errors: { invalid_token: InvalidToken },
  timeoutMs: 2_000,
});

/** Asked by a runner when it starts or resumes a run. */
export const grantRun = rpc({
  subject: "yard.rpc.{caller}.policy.grant",
  summary: "Mints the run token that every tool call of a run carries.",
  request: z.strictObject({
    runId: RunId,
    agent: AgentName,
    requester: CallerName,
    tools: z.array(z.array(z.string().min(1).max(256)).max(256)).max(16),
    /** How long the token is good, in seconds. */
    ttlSeconds: z.int().min(1).max(86_400),
  }),
  reply: z.object({ token: z.string(), expiresAt: Timestamp, policyDigest: Digest }),
  errors: {
    /** The tool patterns make a token that no request could carry. `limit` in characters. */
    token_too_large: { data: z.object({ limit: z.int() }) },
  },
  timeoutMs: 2_000,
});

/** One part of a rule that a call does not meet. */
export const RuleMismatch = z.object({
  /** `what.tools`, `who.agents`, `who.users`, or `when[0]`. */
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
});
export type ConsideredRule = z.infer<typeof ConsideredRule>;

/** More rules than this are counted, not listed. */
export const MAX_CONSIDERED_RULES = 500;

/**
 * Asked by people and their programs, never by tool providers: it tells what the rules say about
 * any user and agent, and permits nothing. What an agent's own definition leaves out is not in it.
 */
export const explainPolicy = rpc({
  subject: "yard.rpc.{caller}.policy.explain",
  summary: "Shows rule by rule how the policy decides about a tool call; it permits nothing.",
  request: z.strictObject({
    user: CallerName,
    /** Left out: the user calls the tool without an agent. */
    agent: AgentName.optional(),
    tool: ToolRef,
    args: z.record(z.string(), z.unknown()),
  }),
  reply: z.object({
    decision: Decision,
    principal: Principal,
    tool: ToolRef,
    /** Matching rules first, then those that fail latest. */
    considered: z.array(ConsideredRule).max(MAX_CONSIDERED_RULES),
    /** Rules of the bundle that are not in `considered`. */
    omitted: z.int().nonnegative(),
    /** For a denial that no allow rule opposes: the allow rule that needs the fewest changes, with all of them. */
    nearest: z.object({ rule: z.string(), failed: z.array(RuleMismatch) }).nullable(),
  }),
  timeoutMs: 5_000,
});

/** A mistake in a policy file or in its tests. Lines and columns count from 1. */
export const PolicyProblem = z.object({
  in: z.enum(["bundle", "tests"]),
  line: z.int(),
  column: z.int(),
  message: z.string(),
});
export type PolicyProblem = z.infer<typeof PolicyProblem>;

export const PolicyTestResult = z.object({
  name: z.string(),
  /** Where the test stands in its file, from 1. */
  line: z.int(),
  passed: z.boolean(),
  /** What was expected and what was decided; null when it passed. */
  message: z.string().nullable(),
});
export type PolicyTestResult = z.infer<typeof PolicyTestResult>;

/**
 * A rule that is right by the schema and most likely not meant. `dead`: an allow rule that a deny
 * rule without conditions covers wholly. `duplicate`: a rule with the effect and the selectors of another.
 * `conflict`: an allow rule with the selectors of a deny rule. `incomplete`: the bundle has more pairs than are compared.
 */
export const LintFinding = z.object({
  kind: z.enum(["dead", "duplicate", "conflict", "incomplete"]),
  /** Null when it is about the whole bundle. */
  rule: z.string().nullable(),
  message: z.string(),
});
export type LintFinding = z.infer<typeof LintFinding>;

export const MAX_POLICY_TEXT = 1_048_576;
export const MAX_POLICY_TESTS = 1_000;
export const MAX_LINT_FINDINGS = 200;

/** Runs the checks that a policy file has to pass before it comes into force, on any text. */
export const validatePolicy = rpc({
  subject: "yard.rpc.{caller}.policy.validate",
  summary: "Checks a policy text, runs its tests and lints it; changes nothing.",
  request: z.strictObject({
    /** Left out: the bundle and the tests in force. */
    bundleText: z.string().max(MAX_POLICY_TEXT).optional(),
    /** The tests for `bundleText`; without it they run against the bundle in force. */
    testsText: z.string().max(MAX_POLICY_TEXT).optional(),
  }),
  reply: z.object({
    /** True when the bundle could come into force: no problem, and no test fails. */
    valid: z.boolean(),
    policyDigest: Digest.nullable(),
    rules: z.int().nonnegative(),
    problems: z.array(PolicyProblem).max(100),
    tests: z.array(PolicyTestResult).max(MAX_POLICY_TESTS),
    findings: z.array(LintFinding).max(MAX_LINT_FINDINGS),
  }),
  errors: {
    /** As many texts as may be checked at a time are being checked. */
    overloaded: { data: z.object({ limit: z.int() }), retryable: true },
  },
  timeoutMs: 20_000,
});

/** Where the tests of a policy file are: `demo.yaml` has them in `demo.test.yaml` beside it. */
export function policyTestsPath(policyPath: string): string {
  return policyPath.replace(
    /(?<=[^/\\])\.(ya?ml)$|$/,
    (_, ending?: string) => `.test.${ending ?? "yaml"}`,
  );
}

/**
 * The tool that a person means by `mcp__server__tool`, `server.tool`, or the name of a built-in tool.
 * Null for a pattern and for what can be no tool.
 */
export function writtenToolRef(text: string): ToolRef | null {
  if (/[*?]/.test(text) || text.length > 512) return null;
  const read = parseToolPattern(text);
  if (read.kind === "server") {
    return ServerId.safeParse(read.server).success ? mcpToolRef(read.server, read.tool) : null;
  }
  const isBuiltin = ToolName.safeParse(text).success && !text.startsWith("mcp_");
  return isBuiltin ? builtinToolRef(text) : null;
}

/** The rule set in force was replaced, or a new one was refused and the old one stays. */
export const bundleActivated = event({
  subject: "yard.evt.policy.{bundle}.activated",
  summary: "A policy bundle came into force.",
  payload: z.object({
    bundle: z.string(),
    policyDigest: Digest,
    rules: z.int().nonnegative(),
    at: Timestamp,
  }),
});

export const bundleRefused = event({
  subject: "yard.evt.policy.{bundle}.refused",
  summary: "A changed policy bundle has errors; the one in force stays.",
  payload: z.object({
    bundle: z.string(),
    policyDigest: Digest,
    errors: z.array(z.string()).max(50),
    at: Timestamp,
  }),
});

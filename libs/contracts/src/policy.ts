import { z } from "zod";
import { event, rpc } from "./define.ts";
import { AgentName, CallerName, Digest, RunId, ServerId, Timestamp, ToolName } from "./ids.ts";
import { RunContext, RunOrigin } from "./run-context.ts";
import { MAX_ROLES, RoleName, RunToken } from "./run-token.ts";
import { builtinToolRef, mcpToolRef, parseToolPattern, ToolRef } from "./tool-names.ts";

/** Who a decision is about. `agent` and `runId` are null when a person or a program calls a tool directly. */
export const Principal = z.object({
  user: CallerName,
  agent: AgentName.nullable(),
  runId: RunId.nullable(),
  /** The agent's roles, from the run token; absent when it has none or there is no token. */
  roles: z.array(RoleName).optional(),
  /** Where the run comes from, from the run token; absent when it does not say or there is no token. */
  context: RunContext.optional(),
});
export type Principal = z.infer<typeof Principal>;

/**
 * How much a person has to do with a call, from nothing to each time: `auto` needs nobody, `session`
 * needs an approval that may be good for a while, `always` needs one for this very call.
 */
export const ApprovalTier = z.enum(["auto", "session", "always"]);
export type ApprovalTier = z.infer<typeof ApprovalTier>;

/** One answer of the policy, with what is needed to explain it later. */
export const Decision = z.object({
  /** `ask` is not `allow`: the call may happen only with an approval of the tier, and never without. */
  effect: z.enum(["allow", "deny", "ask"]),
  /** The rule that decided, or null when no rule matched. */
  rule: z.string().nullable(),
  reason: z.string(),
  policyDigest: Digest,
  /** `auto` with `allow`, `session` or `always` with `ask`; absent with `deny`, and from older policy services. */
  tier: ApprovalTier.optional(),
  /** With `ask` of the tier `session`: for how long one approval may stay good, in milliseconds. */
  ttlMs: z.int().positive().optional(),
});
export type Decision = z.infer<typeof Decision>;

/**
 * The caller of the tool provider: the `{caller}` token of the request that the provider serves.
 * The provider vouches for it, and only providers may ask for decisions.
 */
const OnBehalfOf = CallerName;

const InvalidToken = { data: z.object({ reason: z.string() }) };

/**
 * What is asked for: a call of a tool, or one of the other things that an MCP server offers or asks
 * for. In `tool` stands then, beside the server, the resource's URI, the prompt's name, or the kind itself.
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

/** A label of a tool or of a server, given by whoever administers it. */
export const ToolLabel = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9-]{0,31}$/,
    "must be 1-32 characters of a-z 0-9 -, starting with a letter or digit",
  );
export const MAX_LABELS = 16;

/** What the administrator of a server has said about it; never what the server says of itself. */
export const ServerFacts = z.strictObject({
  /** The `tags` of its declaration. */
  labels: z.array(ToolLabel).max(MAX_LABELS).optional(),
  /** `allowedAgentRoles`: agents with one of them may use it; absent means every agent. */
  roles: z.array(RoleName).max(64).optional(),
  /** `enabledTools`: globs over the names that the server itself uses; absent means every tool. */
  enabledTools: z.array(z.string().min(1).max(256)).max(256).optional(),
});
export type ServerFacts = z.infer<typeof ServerFacts>;

/**
 * The policy promises not to bring another revision into force for `forMs` milliseconds after it
 * answered, so who counts them from before it asked is never late.
 */
const Cacheable = z.object({ revision: z.string(), forMs: z.int().positive() });

/** Asked by a tool provider before every call. */
export const checkPolicy = rpc({
  subject: "yard.rpc.{caller}.policy.check",
  summary: "Decides whether this principal may call this tool with these arguments.",
  request: z.strictObject({
    onBehalfOf: OnBehalfOf,
    token: RunToken.optional(),
    kind: AccessKind.default("tool"),
    tool: ToolRef,
    args: z.record(z.string(), z.unknown()),
    /** Of the tool's definition (see `mcp-pins.ts`), for what is bound to exactly this tool. */
    pin: Digest.optional(),
    /** Of the tool's server, from the provider's own registry. */
    server: ServerFacts.optional(),
  }),
  reply: z.object({
    decision: Decision,
    principal: Principal,
    /** Present when any arguments would get this decision, as long as the revision is in force. */
    cacheable: Cacheable.optional(),
    /**
     * Present when the call counts against a limit of calls at a time: the provider gives it back
     * with `policy.release` when the call is over, and it lapses by itself after a while.
     */
    reservation: z.string().max(200).optional(),
  }),
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
    kind: AccessKind.default("tool"),
    tools: z.array(ToolRef).max(20_000),
    /** By server id, for the servers of `tools`. */
    servers: z.record(ServerId, ServerFacts).optional(),
  }),
  reply: z.object({
    allowed: z.array(ToolName),
    policyDigest: Digest,
    /** Who was asked about; an older policy service does not say. */
    principal: Principal.optional(),
    /** Present when the same list would get this answer, as long as the revision is in force. */
    cacheable: Cacheable.optional(),
  }),
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
    /** Of the agent, as its definition says. */
    roles: z.array(RoleName).max(MAX_ROLES).optional(),
    /** Where the run comes from. What the token of a parent says is taken from there instead. */
    origin: RunOrigin.optional(),
    /**
     * Of the run that starts this one: the new token gets its tool patterns beside its own, its
     * channel, group and owner, and stands one deeper. So a sub-agent never exceeds who started it.
     */
    parentToken: RunToken.optional(),
    /** How long the token is good, in seconds. */
    ttlSeconds: z.int().min(1).max(86_400),
  }),
  reply: z.object({ token: z.string(), expiresAt: Timestamp, policyDigest: Digest }),
  errors: {
    /** The tool patterns make a token that no request could carry. `limit` in characters. */
    token_too_large: { data: z.object({ limit: z.int() }) },
    /** `parentToken` is not good, of another requester, or stands too deep. */
    invalid_parent: { data: z.object({ reason: z.string() }) },
  },
  timeoutMs: 2_000,
});

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
  request: z.strictObject({
    user: CallerName,
    /** Left out: the user calls the tool without an agent. */
    agent: AgentName.optional(),
    roles: z.array(RoleName).max(MAX_ROLES).optional(),
    context: RunContext.optional(),
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

/** A mistake in a policy file or in its tests. Lines and columns count from 1. */
export const PolicyProblem = z.object({
  in: z.enum(["bundle", "tests"]),
  /** Which one, when there are several. */
  file: z.string().optional(),
  line: z.int(),
  column: z.int(),
  message: z.string(),
});
export type PolicyProblem = z.infer<typeof PolicyProblem>;

export const PolicyTestResult = z.object({
  name: z.string(),
  /** Which file, when there are several. */
  file: z.string().optional(),
  /** Where the test stands in its file, from 1. */
  line: z.int(),
  passed: z.boolean(),
  /** What was expected and what was decided; null when it passed. */
  message: z.string().nullable(),
});
export type PolicyTestResult = z.infer<typeof PolicyTestResult>;

/**
 * A rule that is right by the schema and most likely not meant. `dead`: an allow rule that a deny
 * rule without conditions covers wholly. `shadowed`: an allow rule whose every call a stricter allow
 * rule covers, so that it never decides. `duplicate`: a rule with the effect and the selectors of another.
 * `conflict`: an allow rule with the selectors of a deny rule. `unknown-tools`: an allow list of a layer
 * or profile that names only tools that there are not. `incomplete`: the bundle has more pairs than are compared.
 */
export const LintFinding = z.object({
  kind: z.enum(["dead", "shadowed", "duplicate", "conflict", "unknown-tools", "incomplete"]),
  /** Null when it is about the whole bundle. */
  rule: z.string().nullable(),
  message: z.string(),
});
export type LintFinding = z.infer<typeof LintFinding>;

export const MAX_POLICY_TEXT = 1_048_576;
export const MAX_POLICY_TESTS = 1_000;
export const MAX_POLICY_FILES = 64;

/** One file of a bundle or of its tests. */
export const PolicyTextFile = z.strictObject({
  /** Its name without directories. */
  name: z.string().regex(/^[A-Za-z0-9_][A-Za-z0-9_. -]{0,127}$/, "must be a plain file name"),
  text: z.string().max(MAX_POLICY_TEXT),
});
export type PolicyTextFile = z.infer<typeof PolicyTextFile>;

/** The files of a bundle, in any order; those whose name ends in `.test.yaml` or `.test.yml` are tests. */
export const PolicyFiles = z
  .array(PolicyTextFile)
  .min(1)
  .max(MAX_POLICY_FILES)
  .refine((files) => new Set(files.map(({ name }) => name)).size === files.length, {
    error: "names a file twice",
  })
  .refine((files) => files.reduce((sum, { text }) => sum + text.length, 0) <= MAX_POLICY_TEXT, {
    error: "has more than 1 MiB of text",
  });

/** True for a file of tests, by its name. */
export function isPolicyTests(name: string): boolean {
  return /\.test\.ya?ml$/.test(name);
}
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
    /** Takes the place of both: a bundle of several files, with the files of its tests. */
    files: PolicyFiles.optional(),
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

import { z } from "zod";
import { event, rpc } from "./define.ts";
import { AgentName, CallerName, Digest, RunId, Timestamp, ToolName } from "./ids.ts";
import { RunToken } from "./run-token.ts";
import { ToolRef } from "./tool-names.ts";

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

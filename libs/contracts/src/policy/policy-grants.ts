import { z } from "zod";
import { ApprovalTier } from "./approval-tier.ts";
import { rpc } from "../define.ts";
import { AgentName, CallerName, Digest, RunId, Timestamp } from "../ids.ts";
import { StopInForce } from "./policy-budgets.ts";
import { RunnerInstance } from "./run-claims.ts";
import { RunOrigin } from "../agent-runner/run-context.ts";
import { MAX_ROLES, MAX_TOOL_LAYERS, RoleName, RunToken } from "./run-token.ts";

/** Called by a runner when it starts or resumes a run. */
export const grantRun = rpc({
  subject: "yard.rpc.{caller}.policy.grant",
  summary:
    "Mints the run token that every tool call of a run carries, if its requester may start the agent.",
  request: z.strictObject({
    runId: RunId,
    /** The instance of the runner process, which has to hold the run. Left out by runners before 0.2, which get an answer to wait. */
    instance: RunnerInstance.optional(),
    /**
     * The run that the process holds, when it works for `runId`: the request is for the token that this one hands down. Such a token is
     * valid as `parentToken` alone.
     */
    heldRun: RunId.optional(),
    /**
     * The user that claims the session of the run, and whose run it has to be by its record in Redis. The token is valid for this user alone, has no
     * epoch, and is marked as dictated by the user.
     */
    forUser: CallerName.optional(),
    agent: AgentName,
    requester: CallerName,
    tools: z.array(z.array(z.string().min(1).max(256)).max(256)).max(MAX_TOOL_LAYERS),
    /** The roles of the agent, from its definition. */
    roles: z.array(RoleName).max(MAX_ROLES).optional(),
    /** The agent's approval tier: the least that each call requires of people. A parent's counts, too. */
    approval: ApprovalTier.optional(),
    /** Set for an agent with one memory for all its runs, where the policy lets the requester use it. */
    sharesMemory: z.literal(true).optional(),
    /** The origin of the run. Where a parent's token has one, that one counts instead. */
    origin: RunOrigin.optional(),
    /** The service that brought the message in the name of its requester: its claim about the origin is trusted. */
    broughtBy: CallerName.optional(),
    /**
     * The token of the run that starts this one: the new token gets its tool patterns beside its own, its channel, group and owner, and is
     * one level deeper. So a sub-agent never exceeds its parent.
     */
    parentToken: RunToken.optional(),
    /** The lifetime of the token, in seconds. */
    ttlSeconds: z.int().min(1).max(86_400),
  }),
  reply: z.object({ token: z.string(), expiresAt: Timestamp, policyDigest: Digest }),
  errors: {
    /**
     * The calling process does not hold the run, by its record in Redis: it waits, has ended, belongs to another process, or does not
     * exist.
     */
    not_held: { data: z.object({ runId: z.string() }) },
    /** The tool patterns make a token that no request could carry. `limit` in characters. */
    token_too_large: { data: z.object({ limit: z.int() }) },
    /** No rule lets the requester start this agent: `starters` of the policy. */
    may_not_start: { data: z.object({ agent: z.string(), requester: z.string() }) },
    /** The run plays a recording, and its requester has no right to `replay`: `rights` of the policy. */
    may_not_replay: { data: z.object({ requester: z.string() }) },
    /** The requester's claims about these parts of `origin` are not trusted: `origins` of the policy. */
    origin_refused: { data: z.object({ requester: z.string(), parts: z.array(z.string()) }) },
    /** An administrator stopped the run, a run above it, its agent, its requester, or everything. */
    stopped: { data: StopInForce },
    /** The stops in force cannot be read now. */
    policy_unavailable: { data: z.object({ cause: z.string() }), retryable: true },
    /** Every key that could sign the token was revoked. */
    no_key: { data: z.object({}) },
    /** `parentToken` is invalid, of another requester, or too deep. */
    invalid_parent: { data: z.object({ reason: z.string() }) },
  },
  timeoutMs: 2_000,
});

/** The use of a key of run tokens: it signs, it will sign when every replica has it, or its tokens are valid until they end. */
export const TokenKeyUse = z.enum(["signs", "next", "accepted"]);

export const listTokenKeys = rpc({
  subject: "yard.rpc.{caller}.policy.keys",
  summary: "Lists the keys of run tokens as the replica that answers has them, the newest first.",
  role: "viewer",
  request: z.strictObject({}),
  reply: z.object({
    keys: z.array(z.object({ kid: z.string(), use: TokenKeyUse, revoked: z.boolean() })),
    /**
     * The public halves (RFC 8037) of these keys, and of those that sign nothing any more and whose signatures are in the
     * audit: `{"kty":"OKP","crv":"Ed25519","x":…}`.
     */
    publicKeys: z.array(z.object({ kid: z.string(), x: z.string() })).optional(),
  }),
  timeoutMs: 2_000,
});

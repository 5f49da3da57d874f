import { z } from "zod";
import { rpc } from "../define.ts";
import { AgentName, Timestamp } from "../ids.ts";
import { MAX_RUN_DEPTH, RunOrigin } from "./run-context.ts";
import { SessionId, SessionKey, SessionRef } from "./session-key.ts";
import { storeUnavailable } from "../store-errors.ts";

/** The claims about a session that its record confirms or refutes. */
const ClaimName = z.enum(["agent", "channel", "group", "depth"]);

/** The HTTP header with which a caller sends the token of `sessions.claim` to the operations that list and call tools. */
export const SESSION_TOKEN_HEADER = "switchyard-session-token";

/** The codes of `sessions.claim` with which no record says anything about the claims, and that of a credential that may not request it. */
const UNCONFIRMED: ReadonlySet<string> = new Set(["unknown_session", "no_run", "forbidden"]);

/**
 * True when calls of these claims are made without a token after this error: nothing confirms or refutes the claims, and they name no agent, group
 * or depth. Then they are not believed: the rules of the user alone decide.
 */
export function isUnconfirmed(
  claims: { readonly agent?: unknown; readonly group?: unknown; readonly depth?: unknown },
  code: string,
): boolean {
  const { agent, group, depth } = claims;
  const isNamed = [agent, group, depth].some((claim) => claim !== undefined);
  return !isNamed && UNCONFIRMED.has(code);
}

/**
 * A program that works for a session, such as a bridge that starts a coding CLI, claims whose call it makes. A token comes only of claims that the
 * record of the session confirms: its calls pass the rules and tool layers of that agent, channel, group and depth. They count as dictated
 * by the caller, so rules that allow something to agents alone do not apply to them.
 */
export const claimSession = rpc({
  subject: "yard.rpc.{caller}.sessions.claim",
  summary:
    "Checks claims about a session of the caller, and returns a token for calls under its rules.",
  role: "operator",
  request: z.strictObject({
    session: SessionRef,
    agent: AgentName.optional(),
    channel: RunOrigin.shape.channel,
    group: RunOrigin.shape.group,
    /** 0 for a session that no other session's run began. */
    depth: z.int().min(0).max(MAX_RUN_DEPTH).optional(),
  }),
  reply: z.object({
    token: z.string(),
    expiresAt: Timestamp,
    sessionId: SessionId,
    sessionKey: SessionKey,
    /** The facts of the record, which hold for the calls whether they were claimed or not. */
    agent: AgentName,
    channel: z.string().nullable(),
    group: z.string().nullable(),
    depth: z.int().nonnegative(),
  }),
  errors: {
    unknown_session: { data: z.object({ session: z.string() }) },
    /** The record has another value, or none (null). */
    false_claim: {
      data: z.object({ claim: ClaimName, claimed: z.string(), recorded: z.string().nullable() }),
    },
    /** Its last run cannot be read any more, or it has none yet: no record states the origin of the session. */
    no_run: { data: z.object({ session: z.string() }) },
    /** The policy gives no token for the session's agent; `reason` is its code. */
    claim_refused: { data: z.object({ reason: z.string() }) },
    store_unavailable: storeUnavailable,
  },
  timeoutMs: 10_000,
});

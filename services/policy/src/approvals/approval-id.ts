import { createHash, randomBytes } from "node:crypto";
import { canonicalDigest } from "@switchyard/contracts/canonical-json";
import type { Approval } from "@switchyard/contracts/approval-record";

/**
 * The approval of a call that is repeated under one `callId`: always the same, so that a repeat finds
 * it, and another one as soon as anything of what it is bound to differs.
 */
export function approvalIdOf(binding: string, callId: string): string {
  const digest = createHash("sha256").update(`${binding}\n${callId}`).digest("hex");
  return `apr-${digest.slice(0, 32)}`;
}

/** The approval of a call that nobody can repeat without naming it. */
export function randomApprovalId(): string {
  return `apr-${randomBytes(16).toString("hex")}`;
}

/** What a session grant is good for; there is at most one of each. */
export type GrantScope = Pick<
  Approval,
  "principal" | "caller" | "tool" | "pin" | "rule" | "policyDigest"
>;

/** The grant for calls like this one: same actor, same run or the conversation that it belongs to, same tool, definition, rule and policy. */
export function grantIdOf({
  principal,
  caller,
  tool,
  pin,
  rule,
  policyDigest,
}: GrantScope): string {
  const { agent, user, runId, context } = principal;
  // Of the token, so nobody can name a conversation that is not its own.
  const session = context?.session;
  const within = session === undefined ? { runId } : { session };
  // What was approved of an agent's own calls holds for none that somebody dictated.
  const dictated = context?.replayed === true ? { replayed: true } : {};
  const scope = {
    v: 1,
    agent,
    user,
    ...within,
    ...dictated,
    caller,
    tool,
    pin,
    rule,
    policyDigest,
  };
  return `grt-${canonicalDigest(scope).slice("sha256:".length).slice(0, 32)}`;
}

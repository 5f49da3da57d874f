import { createHash, randomBytes } from "node:crypto";
import { canonicalDigest } from "@switchyard/contracts/canonical-json";
import type { Approval } from "@switchyard/contracts/policy/approval-record";

/**
 * Returns the approval id of a call that is repeated under one `callId`: it is stable, so that a repeat finds it, and differs as
 * soon as any bound fact differs.
 */
export function approvalIdOf(binding: string, callId: string): string {
  const digest = createHash("sha256").update(`${binding}\n${callId}`).digest("hex");
  return `apr-${digest.slice(0, 32)}`;
}

/** Returns the approval id of a call without a `callId`, which can be repeated only by naming this id. */
export function randomApprovalId(): string {
  return `apr-${randomBytes(16).toString("hex")}`;
}

/** The scope of a session grant; there is at most one grant for each scope. */
export type GrantScope = Pick<
  Approval,
  "principal" | "caller" | "tool" | "pin" | "rule" | "policyDigest" | "requirements"
>;

/** The grant for calls like this one: same actor, same run or the conversation that it belongs to, same tool, definition, rules and policy. */
export function grantIdOf({
  principal,
  caller,
  tool,
  pin,
  rule,
  policyDigest,
  requirements,
}: GrantScope): string {
  const { agent, user, runId, context } = principal;
  // The session comes from the token, so a caller cannot name a conversation other than its own.
  const session = context?.session;
  const within = session === undefined ? { runId } : { session };
  // An approval of an agent's own calls does not cover calls that a user dictated.
  const dictated = context?.replayed === true ? { replayed: true } : {};
  // A grant of fewer people does not cover a call for which another rule wants more.
  const approve = requirements.flatMap(({ rules }) => rules).toSorted();
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
    ...(approve.length > 0 && { approve }),
  };
  return `grt-${canonicalDigest(scope).slice("sha256:".length).slice(0, 32)}`;
}

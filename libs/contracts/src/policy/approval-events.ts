import { z } from "zod";
import { ApprovalDecision, ApprovalId, AskedTier, Risk } from "./approval-record.ts";
import { ApprovalVote } from "./approval-votes.ts";
import { command, event } from "../define.ts";
import { CallId } from "../mcp-broker/mcp-calls.ts";
import { Digest, Timestamp, CallerName } from "../ids.ts";
import { Principal } from "./policy.ts";
import { ToolRef } from "../tool-names.ts";

/** Comes when the time of an approval is over, see `decisions/013-timers.md`. */
export const expireApproval = command({
  subject: "yard.cmd.{caller}.approval.expire.{id}",
  summary: "Looks whether the time of an approval is over.",
  payload: z.strictObject({ id: ApprovalId }),
});

/** Arguments are never part of an event: `approvals.get` returns them to users with permission. */
const facts = {
  approvalId: ApprovalId,
  tier: AskedTier,
  risk: Risk,
  principal: Principal,
  tool: ToolRef,
  argsDigest: Digest,
  rule: z.string().nullable(),
  policyDigest: Digest,
  callId: CallId.nullable(),
  at: Timestamp,
};

export const approvalRequested = event({
  subject: "yard.evt.approval.{owner}.{id}.requested",
  summary: "A tool call waits for a person.",
  payload: z.object({ ...facts, expiresAt: Timestamp }),
});

export const approvalVoted = event({
  subject: "yard.evt.approval.{owner}.{id}.voted",
  summary: "A person approved a call that waits for more people.",
  payload: z.object({
    ...facts,
    vote: ApprovalVote,
    /** The approvals there are now, of those that are needed. */
    approved: z.int().nonnegative(),
    needed: z.int().positive(),
  }),
});

export const approvalEscalated = event({
  subject: "yard.evt.approval.{owner}.{id}.escalated",
  summary: "A call waited so long that other people may approve it, too.",
  payload: z.object({ ...facts, to: z.array(z.string()), expiresAt: Timestamp }),
});

export const approvalDecided = event({
  subject: "yard.evt.approval.{owner}.{id}.decided",
  summary: "A waiting call was approved, denied or cancelled.",
  payload: z.object({
    ...facts,
    state: z.enum(["approved", "denied", "cancelled"]),
    decision: ApprovalDecision,
  }),
});

export const approvalExpired = event({
  subject: "yard.evt.approval.{owner}.{id}.expired",
  summary: "An approval expired before a decision, or before the approved call was made.",
  payload: z.object(facts),
});

export const approvalConsumed = event({
  subject: "yard.evt.approval.{owner}.{id}.consumed",
  summary: "A tool provider is about to send an approved call.",
  payload: z.object({ ...facts, provider: CallerName }),
});

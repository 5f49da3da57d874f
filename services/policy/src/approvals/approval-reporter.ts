import type { Bus } from "@switchyard/bus/bus";
import { publishEvent, scheduleCommand } from "@switchyard/bus/publish";
import {
  approvalConsumed,
  approvalDecided,
  approvalEscalated,
  approvalExpired,
  approvalRequested,
  approvalVoted,
  expireApproval,
} from "@switchyard/contracts/policy/approval-events";
import { type Approval, type SessionGrant } from "@switchyard/contracts/policy/approval-record";
import type { ApprovalVote } from "@switchyard/contracts/policy/approval-votes";
import { grantIssued, grantRevoked } from "@switchyard/contracts/policy/session-grants";
import type { Log } from "@switchyard/service/log";
import { nextDueMs } from "./approval-store.ts";

/**
 * Publishes changes of approvals, and sets their timers. No operation waits for it or depends on it: a waiting caller polls the
 * state, and every access to an approval compares times.
 */
export interface ApprovalReporter {
  requested(approval: Approval): void;
  /** A person approved it; whether others have to is in the approval. */
  voted(approval: Approval, vote: ApprovalVote): void;
  /** Other people may approve it, too, from `at` on. */
  escalated(approval: Approval, at: string): void;
  decided(approval: Approval): void;
  expired(approval: Approval): void;
  consumed(approval: Approval, provider: string): void;
  /** The provider reported the outcome of a consumed approval. */
  settled(approval: Approval, outcome: "executed" | "not_sent"): void;
  grantIssued(grant: SessionGrant): void;
  grantUsed(
    grant: SessionGrant,
    call: { readonly argsDigest: string; readonly provider: string },
  ): void;
  grantRevoked(grant: SessionGrant, end: { readonly by: string; readonly reason: string }): void;
}

/** The scheduler may be early by the part of a millisecond that a time in the record does not have. */
const TIMER_MARGIN_MS = 250;

export function createApprovalReporter(parts: {
  readonly bus: Bus;
  readonly log: Log;
  readonly now: () => number;
}): ApprovalReporter {
  const { bus, log, now } = parts;
  const at = () => new Date(now()).toISOString();
  const done = (work: Promise<unknown>, approvalId: string): void => {
    work.catch((err: unknown) => log.warn({ err, approvalId }, "approval event not published"));
  };
  // There is one timer for each approval: the next event of its life moves it.
  const setTimer = (approval: Approval): void => {
    const { id } = approval;
    const due = new Date(nextDueMs(approval) + TIMER_MARGIN_MS);
    done(scheduleCommand(bus, expireApproval, { id }, { id }, { at: due }), id);
  };
  return {
    requested(approval) {
      const { id, expiresAt } = approval;
      const fact = { ...factsOf(approval, at()), expiresAt };
      // An approval that is requested again under restored rules has the same id.
      const messageId = `${id}:requested:${approval.requestedAt}`;
      done(publishEvent(bus, approvalRequested, tokensOf(approval), fact, { messageId }), id);
      setTimer(approval);
    },
    voted(approval, vote) {
      const { id, requirements, needed, requestedAt } = approval;
      const approved = requirements.reduce((sum, one) => sum + one.approved, 0);
      const fact = { ...factsOf(approval, at()), vote, approved, needed };
      const messageId = `${id}:voted:${requestedAt}:${vote.by}`;
      done(publishEvent(bus, approvalVoted, tokensOf(approval), fact, { messageId }), id);
    },
    escalated(approval, escalatedAt) {
      const { id, expiresAt, requirements } = approval;
      const added = requirements.filter(({ escalatesAt }) => escalatesAt === escalatedAt);
      const to = [...new Set(added.flatMap((one) => one.to))];
      const fact = { ...factsOf(approval, at()), to, expiresAt };
      const messageId = `${id}:escalated:${escalatedAt}`;
      done(publishEvent(bus, approvalEscalated, tokensOf(approval), fact, { messageId }), id);
      setTimer(approval);
    },
    decided(approval) {
      const { id, state, decision } = approval;
      if (decision === null) return;
      if (state !== "approved" && state !== "denied" && state !== "cancelled") return;
      const fact = { ...factsOf(approval, at()), state, decision };
      const messageId = `${id}:decided:${decision.at}`;
      done(publishEvent(bus, approvalDecided, tokensOf(approval), fact, { messageId }), id);
      if (state === "approved") setTimer(approval);
    },
    expired(approval) {
      const { id } = approval;
      const messageId = `${id}:expired`;
      done(
        publishEvent(bus, approvalExpired, tokensOf(approval), factsOf(approval, at()), {
          messageId,
        }),
        id,
      );
    },
    consumed(approval, provider) {
      const { id } = approval;
      const fact = { ...factsOf(approval, at()), provider };
      done(publishEvent(bus, approvalConsumed, tokensOf(approval), fact), id);
    },
    // No client waits for these two; the audit has them.
    settled() {},
    grantUsed() {},
    grantIssued(grant) {
      done(publishEvent(bus, grantIssued, tokensOf(grant), { grant, at: at() }), grant.approvalId);
    },
    grantRevoked(grant, { by, reason }) {
      const fact = { grant, by, reason, at: at() };
      done(publishEvent(bus, grantRevoked, tokensOf(grant), fact), grant.approvalId);
    },
  };
}

function factsOf(approval: Approval, at: string) {
  const { id, tier, risk, principal, tool, argsDigest, rule, policyDigest, callId } = approval;
  return {
    approvalId: id,
    tier,
    risk,
    principal,
    tool,
    argsDigest,
    rule,
    policyDigest,
    callId,
    at,
  };
}

/** The subject tokens, by which the principal's user receives the event. */
function tokensOf({ id, principal }: Pick<Approval | SessionGrant, "id" | "principal">) {
  return { owner: principal.user, id };
}

import type { AuditFact } from "@switchyard/contracts/policy/audit";
import type { Approval, SessionGrant } from "@switchyard/contracts/policy/approval-record";
import type { AuditWriter } from "@switchyard/audit/audit-writer";
import { redactText } from "@switchyard/service/redact";
import type { ApprovalReporter } from "./approval-reporter.ts";

type ApprovalFact = Extract<AuditFact, { kind: "approval" }>;

/** Returns a reporter that also appends each fact to the audit. The audit is authoritative: events may be lost. */
export function auditApprovals(reporter: ApprovalReporter, writer: AuditWriter): ApprovalReporter {
  const record = (fact: ApprovalFact): void => void writer.append(() => fact);
  return {
    requested(approval) {
      record(factOf(approval, "pending"));
      reporter.requested(approval);
    },
    voted(approval, vote) {
      const { standsFor } = vote;
      const fact = { ...factOf(approval, "voted"), ...decisionOf({ decision: vote }) };
      record({ ...fact, ...(standsFor === null ? {} : { standsFor }) });
      reporter.voted(approval, vote);
    },
    escalated(approval, at) {
      record(factOf(approval, "escalated"));
      reporter.escalated(approval, at);
    },
    decided(approval) {
      record({ ...factOf(approval, approval.state), ...decisionOf(approval) });
      reporter.decided(approval);
    },
    expired(approval) {
      record(factOf(approval, "expired"));
      reporter.expired(approval);
    },
    consumed(approval, provider) {
      record({ ...factOf(approval, "consumed"), provider });
      reporter.consumed(approval, provider);
    },
    settled(approval, outcome) {
      record(factOf(approval, outcome === "executed" ? "executed" : "returned"));
      reporter.settled(approval, outcome);
    },
    grantIssued(grant) {
      record({ ...grantFact(grant, "grant_issued"), by: grant.grantedBy });
      reporter.grantIssued(grant);
    },
    grantUsed(grant, by) {
      record({ ...grantFact(grant, "grant_used"), ...by });
      reporter.grantUsed(grant, by);
    },
    grantRevoked(grant, end) {
      const { by, reason } = end;
      record({ ...grantFact(grant, "grant_revoked"), by, reason: redactText(reason) });
      reporter.grantRevoked(grant, end);
    },
  };
}

function factOf(approval: Approval, change: ApprovalFact["change"]): ApprovalFact {
  const { id, principal, tool, tier, argsDigest: asked, rule, policyDigest, callId } = approval;
  const { edit } = approval;
  return {
    kind: "approval",
    change,
    approvalId: id,
    principal,
    tool,
    tier,
    argsDigest: edit?.argsDigest ?? asked,
    ...(edit === undefined ? {} : { askedDigest: asked }),
    rule,
    policyDigest,
    ...(callId === null ? {} : { callId }),
  };
}

function decisionOf({
  decision,
}: {
  readonly decision: Omit<NonNullable<Approval["decision"]>, "at"> | null;
}): Partial<ApprovalFact> {
  if (decision === null) return {};
  const { by, authenticated, via, scope, reason } = decision;
  return {
    by,
    authenticated,
    ...(via === undefined ? {} : { via }),
    ...(scope === null ? {} : { scope }),
    ...(reason === null ? {} : { reason: redactText(reason) }),
  };
}

function grantFact(grant: SessionGrant, change: ApprovalFact["change"]): ApprovalFact {
  const { id, approvalId, principal, tool, rule, policyDigest } = grant;
  return {
    kind: "approval",
    change,
    approvalId,
    grantId: id,
    principal,
    tool,
    rule,
    policyDigest,
  };
}

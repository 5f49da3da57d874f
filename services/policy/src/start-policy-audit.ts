import { startAudit, type Audit, type AuditOptions } from "@switchyard/service/audit/start-audit";
import type { ApprovalReporter } from "./approvals/approval-reporter.ts";
import { auditApprovals } from "./approvals/approval-audit.ts";
import { createDecisionAudit, type DecisionAudit } from "./audit/decision-audit.ts";

export interface PolicyAudit {
  readonly decisions: DecisionAudit;
  /** Wraps the reporter in one that records. */
  readonly approvals: (reporter: ApprovalReporter) => ApprovalReporter;
}

interface Kit extends Omit<AuditOptions, "service" | "version"> {
  readonly config: AuditOptions["config"] & { readonly YARD_AUDIT_VALUES: boolean };
  readonly onStop: (name: string, stop: () => Promise<void>) => void;
}

/** Begins the chain of this policy process. It ends after everything that was started later. */
export async function startPolicyAudit(kit: Kit, version: string): Promise<PolicyAudit> {
  const audit: Audit | null = await startAudit({ ...kit, service: "policy", version });
  const decisions = createDecisionAudit(audit, { withValues: kit.config.YARD_AUDIT_VALUES });
  if (audit !== null)
    kit.onStop("audit", () => {
      decisions.stop();
      return audit.stop();
    });
  return {
    decisions,
    approvals: (reporter) => (audit === null ? reporter : auditApprovals(reporter, audit.writer)),
  };
}

import type { Approval } from "@switchyard/contracts/approval-record";
import { hasRole, type UserRole } from "@switchyard/contracts/user-roles";

/**
 * Which of its own calls an approver may approve: `none` (four eyes), those of `runs` that it started
 * (the agent asks there, and is another principal), or `all`, calls by hand included.
 */
export type OwnApprovals = "none" | "runs" | "all";

export interface ApproverSettings {
  /** NATS users that may decide. No service that works for agents can be one: it has no permission to ask. */
  readonly approvers: readonly string[];
  readonly own: OwnApprovals;
  /** Whether the policy gives a user the right to approve calls that it dictated. */
  readonly mayApproveOwn: (user: string) => boolean;
}

/** With who asks over HTTP as an approver, whose credential says so. */
export function settingsFor(
  settings: ApproverSettings,
  { caller, roles }: { readonly caller: string; readonly roles: readonly UserRole[] },
): ApproverSettings {
  if (!hasRole(roles, "approver")) return settings;
  return { ...settings, approvers: [...settings.approvers, caller] };
}

/** Null when the caller may decide; else what says no: a setting, or a right that it has not. */
export function refusedBy(
  { approvers, own, mayApproveOwn }: ApproverSettings,
  caller: string,
  { principal, caller: madeBy }: Pick<Approval, "principal" | "caller">,
): "YARD_APPROVERS" | "YARD_APPROVE_OWN" | "approve-own" | null {
  if (!approvers.includes(caller)) return "YARD_APPROVERS";
  const isDictated = madeBy === caller || principal.context?.dictatedBy === caller;
  if (isDictated && !mayApproveOwn(caller)) return "approve-own";
  const isOwn = principal.user === caller || madeBy === caller;
  if (!isOwn || own === "all") return null;
  const isOwnRun = principal.agent !== null && madeBy !== caller;
  return own === "runs" && isOwnRun ? null : "YARD_APPROVE_OWN";
}

/** Who may see an approval with its arguments: who may decide at all, and who it is about. */
export function maySee(
  { approvers }: Pick<ApproverSettings, "approvers">,
  caller: string,
  { principal, caller: madeBy }: Pick<Approval, "principal" | "caller">,
): boolean {
  return approvers.includes(caller) || principal.user === caller || madeBy === caller;
}

import type { Approval } from "@switchyard/contracts/approval-record";
import { hasRole, type UserRole } from "@switchyard/contracts/user-roles";
import type { Decidable } from "@switchyard/rules/rights/may-approve";

/**
 * Which of its own calls an approver may approve: `none` (four eyes), those of `runs` that it started
 * (the agent asks there, and is another principal), or `all`, calls by hand included.
 */
export type OwnApprovals = "none" | "runs" | "all";

export interface ApproverSettings {
  /** NATS users that may decide. No service that works for agents can be one: it has no permission to ask. */
  readonly approvers: readonly string[];
  readonly own: OwnApprovals;
  /** Whether the policy lets a user decide about a call; null for a user whom its `approvers` do not name. */
  readonly mayApprove: (user: string) => ((call: Decidable) => boolean) | null;
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

/**
 * True when the caller decides about the call or grant as far as settings, roles and the policy's `approvers` go. A user whom `approvers`
 * names decides about the calls of its entries, and about no others.
 */
export function concerns(
  { approvers, mayApprove }: Pick<ApproverSettings, "approvers" | "mayApprove">,
  caller: string,
  call: Decidable,
): boolean {
  return mayApprove(caller)?.(call) ?? approvers.includes(caller);
}

/** True for a caller who decides about every call. */
export function decidesAll(
  { approvers, mayApprove }: Pick<ApproverSettings, "approvers" | "mayApprove">,
  caller: string,
): boolean {
  return mayApprove(caller) === null && approvers.includes(caller);
}

/** Null when the caller may decide; else what says no: a setting, a right that it has not, or the policy's `approvers`. */
export function refusedBy(
  settings: ApproverSettings,
  caller: string,
  approval: Decidable & Pick<Approval, "caller">,
): "YARD_APPROVERS" | "YARD_APPROVE_OWN" | "approve-own" | "approvers" | null {
  const { own, mayApprove, mayApproveOwn } = settings;
  const { principal, caller: madeBy } = approval;
  if (!concerns(settings, caller, approval))
    return mayApprove(caller) === null ? "YARD_APPROVERS" : "approvers";
  const isDictated = madeBy === caller || principal.context?.dictatedBy === caller;
  if (isDictated && !mayApproveOwn(caller)) return "approve-own";
  const isOwn = principal.user === caller || madeBy === caller;
  if (!isOwn || own === "all") return null;
  const isOwnRun = principal.agent !== null && madeBy !== caller;
  return own === "runs" && isOwnRun ? null : "YARD_APPROVE_OWN";
}

/** Who may see an approval with its arguments: who may decide about it, and who it is about. */
export function maySee(
  settings: Pick<ApproverSettings, "approvers" | "mayApprove">,
  caller: string,
  approval: Decidable & Pick<Approval, "caller">,
): boolean {
  const { principal, caller: madeBy } = approval;
  return concerns(settings, caller, approval) || principal.user === caller || madeBy === caller;
}

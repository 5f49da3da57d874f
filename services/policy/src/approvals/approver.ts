import type { Approval } from "@switchyard/contracts/approval-record";
import { hasRole, type UserRole } from "@switchyard/contracts/user-roles";
import type { Decidable } from "@switchyard/rules/rights/may-approve";

/**
 * The own calls that an approver may approve: `none` (four eyes), those of `runs` that it started (the agent is the requester
 * there, and another principal), or `all`, direct calls included.
 */
export type OwnApprovals = "none" | "runs" | "all";

export interface ApproverSettings {
  /** NATS users that may decide. A service that works for agents can never be one: it has no permission to send these requests. */
  readonly approvers: readonly string[];
  readonly own: OwnApprovals;
  /** Returns a predicate for the calls that the policy lets a user decide about; null for a user whom its `approvers` do not name. */
  readonly mayApprove: (user: string) => ((call: Decidable) => boolean) | null;
  /** True when the policy gives a user the right to approve calls that it dictated. */
  readonly mayApproveOwn: (user: string) => boolean;
}

/** Adds a caller that signed in over HTTP with the role of an approver. */
export function settingsFor(
  settings: ApproverSettings,
  { caller, roles }: { readonly caller: string; readonly roles: readonly UserRole[] },
): ApproverSettings {
  if (!hasRole(roles, "approver")) return settings;
  return { ...settings, approvers: [...settings.approvers, caller] };
}

/**
 * True when the caller decides about the call or grant according to settings, roles and the policy's `approvers`. A user whom
 * `approvers` names decides about the calls of its entries, and about no others.
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

/** Returns null when the caller may decide, otherwise what forbids it: a setting, a missing right, or the policy's `approvers`. */
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

/** True when the caller may see an approval with its arguments: users who may decide about it, and the user of the call. */
export function maySee(
  settings: Pick<ApproverSettings, "approvers" | "mayApprove">,
  caller: string,
  approval: Decidable & Pick<Approval, "caller">,
): boolean {
  const { principal, caller: madeBy } = approval;
  return concerns(settings, caller, approval) || principal.user === caller || madeBy === caller;
}

import type { Approval } from "@switchyard/contracts/policy/approval-record";
import { hasRole, type UserRole } from "@switchyard/contracts/user-roles";
import { countsAs, requestedBy } from "@switchyard/rules/rights/count-votes";
import type { Decidable } from "@switchyard/rules/rights/may-approve";
import type { People } from "@switchyard/rules/rights/people";

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
  /** The people and deputies of the policy. */
  readonly people: () => People;
  /** True when a rule of the policy names those who approve its calls. */
  readonly namesPeople: () => boolean;
  /** Milliseconds since the Unix epoch; deputies and escalations depend on it. */
  readonly now: () => number;
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
 * True when the caller may approve such calls by settings, roles and the policy's `approvers`. A user whom `approvers` names decides
 * about the calls of its entries, and about no others.
 */
export function isApprover(
  { approvers, mayApprove }: Pick<ApproverSettings, "approvers" | "mayApprove">,
  caller: string,
  call: Decidable,
): boolean {
  return mayApprove(caller)?.(call) ?? approvers.includes(caller);
}

/** True when the caller decides about the call or grant: an approver, or where its rules name people with `from`, one of these. */
export function concerns(settings: ApproverSettings, caller: string, call: Decidable): boolean {
  const { requirements = [] } = call;
  const isOne = isApprover(settings, caller, call);
  if (requirements.length === 0) return isOne;
  const voter = {
    user: caller,
    isApprover: isOne,
    atMs: settings.now(),
    people: settings.people(),
  };
  return requirements.some((requirement) => countsAs(requirement, call, voter).length > 0);
}

/** True for a caller who decides about every call. */
export function decidesAll(settings: ApproverSettings, caller: string): boolean {
  const { approvers, mayApprove, namesPeople } = settings;
  return mayApprove(caller) === null && approvers.includes(caller) && !namesPeople();
}

type Refusal =
  | "YARD_APPROVERS"
  | "YARD_APPROVE_OWN"
  | "approve-own"
  | "approvers"
  | "from"
  | "notRequester";

/** Returns null when the caller may decide, otherwise what forbids it: a setting, a missing right, or the policy. */
export function refusedBy(
  settings: ApproverSettings,
  caller: string,
  approval: Decidable & Pick<Approval, "caller">,
): Refusal | null {
  const { own, mayApprove, mayApproveOwn } = settings;
  const { principal, caller: madeBy, requirements = [] } = approval;
  const people = settings.people();
  const person = people.personOf(caller);
  const isMe = (user: string | undefined): boolean =>
    user !== undefined && people.personOf(user) === person;
  const isForOthers = requirements.some(({ notRequester }) => notRequester);
  if (isForOthers && requestedBy(approval, people)(person)) return "notRequester";
  if (!concerns(settings, caller, approval)) {
    if (requirements.some(({ from }) => from !== null)) return "from";
    return mayApprove(caller) === null ? "YARD_APPROVERS" : "approvers";
  }
  const isDictated = isMe(madeBy) || isMe(principal.context?.dictatedBy);
  if (isDictated && !mayApproveOwn(caller)) return "approve-own";
  const isOwn = isMe(principal.user) || isMe(madeBy);
  if (!isOwn || own === "all") return null;
  const isOwnRun = principal.agent !== null && !isMe(madeBy);
  return own === "runs" && isOwnRun ? null : "YARD_APPROVE_OWN";
}

/** True when the caller may see an approval with its arguments: users who may decide about it, and the user of the call. */
export function maySee(
  settings: ApproverSettings,
  caller: string,
  approval: Decidable & Pick<Approval, "caller">,
): boolean {
  const { principal, caller: madeBy } = approval;
  return concerns(settings, caller, approval) || principal.user === caller || madeBy === caller;
}

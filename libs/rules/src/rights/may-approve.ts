import { matchesGlob } from "@switchyard/contracts/glob";
import type { Approval } from "@switchyard/contracts/policy/approval-record";
import { labelsOf, type LabelRule } from "../layers/labels.ts";
import type { Bundle } from "../schema/bundle.ts";

/** The object that an entry of `approvers` is matched against: a waiting call, or a grant. */
export type Decidable = Pick<Approval, "principal" | "tool"> &
  Partial<Pick<Approval, "caller" | "requirements">>;

/**
 * Returns whether the policy lets the user decide about the call; null when no entry of `approvers` names the user. A user with
 * an entry decides only about the calls that its entries match. All selectors of an entry must match.
 */
export function mayApprove(
  { approvers, labels }: Pick<Bundle, "approvers"> & { readonly labels: readonly LabelRule[] },
  user: string,
): ((call: Decidable) => boolean) | null {
  const entries = approvers?.filter(({ users }) => fits(users, user)) ?? [];
  if (entries.length === 0) return null;
  return ({ principal, tool }) => {
    const own = labelsOf(labels, tool, undefined);
    return entries.some(
      ({ callsOf }) =>
        (callsOf.users === undefined || fits(callsOf.users, principal.user)) &&
        (callsOf.agents === undefined ||
          (principal.agent !== null && fits(callsOf.agents, principal.agent))) &&
        (callsOf.labels === undefined || callsOf.labels.some((label) => own.has(label))),
    );
  };
}

function fits(globs: readonly string[], name: string): boolean {
  return globs.some((glob) => matchesGlob(glob, name));
}

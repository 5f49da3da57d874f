import type { Approval } from "@switchyard/contracts/policy/approval-record";
import type { Finding } from "@switchyard/contracts/policy/findings";
import { canonicalJson } from "@switchyard/contracts/canonical-json";
import type { ApprovalRequirement } from "@switchyard/contracts/policy/approval-votes";
import type { ApprovingRule, CompiledBundle } from "../bundle/compile-bundle.ts";
import { groupNamed, type Approve } from "../schema/approve-schema.ts";
import { durationText } from "../schema/budget-schema.ts";

/** Everything that the rules which match a call require of its approval. All of it counts: the strictest combination. */
export interface ApproveTerms {
  readonly requirements: ApprovalRequirement[];
  readonly needed: number;
  readonly reasonFor: ("approvals" | "denials")[];
  /** The shortest time to decide of the rules; null when none states one. */
  readonly withinMs: number | null;
  /** The time from which escalations count, in milliseconds since the Unix epoch. */
  readonly requestedAtMs: number;
}

/** Combines `approve` of rules. Requirements that name the same people become one with the highest count. */
export function approveTerms(
  bundle: Pick<CompiledBundle, "groups">,
  rules: readonly ApprovingRule[],
  requestedAtMs: number,
): ApproveTerms {
  const requirements = new Map<string, ApprovalRequirement>();
  for (const { id, approve } of rules) {
    const key = canonicalJson([approve.from ?? null, approve.escalate ?? null]);
    const known = requirements.get(key);
    const one = requirementOf(bundle, { id, approve, requestedAtMs });
    requirements.set(key, known === undefined ? one : stricter(known, one));
  }
  const all = [...requirements.values()];
  const reasons = rules.map(({ approve }) => approve.reason);
  const requires = (kind: "approvals" | "denials"): boolean =>
    reasons.some((reason) => reason === "required" || reason === kind);
  const times = rules.flatMap(({ approve }) => approve.within ?? []);
  return {
    requirements: all,
    needed: Math.max(
      1,
      all.reduce((sum, { count }) => sum + count, 0),
    ),
    reasonFor: (["approvals", "denials"] as const).filter(requires),
    withinMs: times.length === 0 ? null : Math.min(...times),
    requestedAtMs,
  };
}

/** Returns the kinds of masked values that those who decide about an approval are shown: those of all rules that it names. */
export function shownKinds(
  { approving, digest }: Pick<CompiledBundle, "approving" | "digest">,
  { requirements, policyDigest }: Pick<Approval, "requirements" | "policyDigest">,
): Finding[] {
  if (policyDigest !== digest) return [];
  const rules = new Set(requirements.flatMap(({ rules: ids }) => ids));
  const kinds = approving.flatMap(({ id, approve }) =>
    rules.has(id) ? (approve.unmask ?? []) : [],
  );
  return [...new Set(kinds)];
}

/** Such as `2 of group:security, not the requester, within 4h, after 1h also boss, with a reason`. */
export function approveWords(approve: Approve): string {
  const { from, count = 1, notRequester, within, escalate, unmask, edit, reason } = approve;
  const parts = [
    `${count} of ${from === undefined ? "those who may approve" : from.join(" or ")}`,
    notRequester === true ? "not the requester" : "",
    within === undefined ? "" : `within ${durationText(within)}`,
    escalate === undefined
      ? ""
      : `after ${durationText(escalate.after)} also ${escalate.to.join(" or ")}`,
    unmask === undefined ? "" : `who see the ${unmask.join(" and ")} behind masks`,
    edit === undefined ? "" : "with its arguments unchanged",
    reason === undefined ? "" : REASONS[reason],
  ];
  return parts.filter((part) => part !== "").join(", ");
}

const REASONS = {
  required: "with a reason",
  approvals: "approvals with a reason",
  denials: "denials with a reason",
} as const;

/** Returns the globs over user names that a list of users and groups stands for. */
export function usersNamed(
  { groups }: Pick<CompiledBundle, "groups">,
  names: readonly string[],
): string[] {
  return names.flatMap((name) => {
    const group = groupNamed(name);
    return group === null ? [name] : (groups.get(group) ?? []);
  });
}

function requirementOf(
  bundle: Pick<CompiledBundle, "groups">,
  { id, approve, requestedAtMs }: { id: string; approve: Approve; requestedAtMs: number },
): ApprovalRequirement {
  const { from, count = 1, notRequester = false, escalate, edit } = approve;
  const to = escalate?.to ?? [];
  return {
    rules: [id],
    from: from ?? null,
    users: usersNamed(bundle, from ?? []),
    count,
    approved: 0,
    notRequester,
    escalatesAt:
      escalate === undefined ? null : new Date(requestedAtMs + escalate.after).toISOString(),
    to,
    toUsers: usersNamed(bundle, to),
    ...(edit === false && { isFixed: true as const }),
  };
}

function stricter(one: ApprovalRequirement, other: ApprovalRequirement): ApprovalRequirement {
  return {
    ...one,
    rules: [...one.rules, ...other.rules],
    count: Math.max(one.count, other.count),
    notRequester: one.notRequester || other.notRequester,
    ...(other.isFixed === true && { isFixed: true as const }),
  };
}

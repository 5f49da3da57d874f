import {
  bindingDigest,
  type Approval,
  type ApprovalEdit,
} from "@switchyard/contracts/policy/approval-record";
import type { ApprovalRequirement } from "@switchyard/contracts/policy/approval-votes";
import { canonicalDigest, canonicalJson } from "@switchyard/contracts/canonical-json";
import type { Decision } from "@switchyard/contracts/policy/policy";
import type { Finding } from "@switchyard/contracts/policy/findings";
import { masksInValue } from "@switchyard/service/inspect/masks-in";
import type { ApproveTerms } from "@switchyard/rules/engine/approve-terms";
import type { StoredEdit } from "./approval-store.ts";
import { hasMask } from "./mask-secrets.ts";

/** The rules' answer about a changed call: the reason why this approval does not cover it, or null. */
export interface EditRefusal {
  readonly rule: string | null;
  readonly reason: string;
}

/** Changed arguments are stored until the approval is deleted. */
const MAX_BYTES = 65_536;
/** The runner starts a child of a run by this tool itself, with the input that its journal has. */
const STARTS_CHILD = "agent";

/** The reason why the arguments of the call cannot be changed to these; null when they can. */
export function notEditable(
  { needed, tool, requirements }: Pick<Approval, "needed" | "tool" | "requirements">,
  args: Readonly<Record<string, unknown>>,
  scope: "once" | "session",
): string | null {
  if (scope === "session") return "changed arguments are for this one call: use the scope once";
  const fixing = fixedBy(requirements);
  if (fixing !== null)
    return `rule ${fixing} lets approvers change none (approve, edit: false): deny it with the reason`;
  if (needed > 1)
    return "several people have to approve it, and they would not have approved the same call: deny it with the reason";
  if (tool.server === null && tool.tool === STARTS_CHILD)
    return "it starts another agent, whose input cannot be changed here: deny it with the reason";
  const text = canonicalJson(args);
  if (hasMask(text))
    return "the arguments have a masked secret, which would be sent as it is shown: write the value, or deny the call";
  if (Buffer.byteLength(text) > MAX_BYTES)
    return `the changed arguments have more than ${MAX_BYTES} bytes`;
  return null;
}

/**
 * The reason why an approver may not send the masked values in the changed arguments; null when there are none, or all of them were shown to it.
 * An approver who is shown masks alone could otherwise let a call send their values elsewhere.
 */
export function masksNotShown(
  args: Readonly<Record<string, unknown>>,
  { shown, kinds }: { readonly shown: string; readonly kinds: readonly Finding[] },
): string | null {
  const known = new Set(masksInValue(shown).map(({ mask }) => mask));
  const hidden = masksInValue(args).find(
    ({ kind, mask }) => !known.has(mask) || !kinds.includes(kind),
  );
  return hidden === undefined
    ? null
    : `they have ${hidden.mask}, whose value approvers of this call are not shown: leave it out, or deny the call`;
}

/** Binds the approval to the changed arguments; null when they are those of the request. */
export function editOf(
  approval: Approval,
  args: Readonly<Record<string, unknown>>,
  { by, at }: Pick<ApprovalEdit, "by" | "at">,
): StoredEdit | null {
  const argsDigest = canonicalDigest(args);
  if (argsDigest === approval.argsDigest) return null;
  return { edit: { by, at, argsDigest, binding: editedBinding(approval, args) }, args };
}

/** The binding of an approval for other arguments than those of its call. */
export function editedBinding(approval: Approval, args: Readonly<Record<string, unknown>>): string {
  const { principal, caller, tool, pin, policyDigest, rule, tier } = approval;
  const decision = { policyDigest, rule, tier };
  return bindingDigest({ principal, caller, tool, pin: pin ?? undefined, args, decision });
}

/** The reason why the rules do not let this approval count for the changed call; null when it counts. A pure function. */
export function editRefusal(
  approval: Pick<Approval, "requirements" | "requestedAt">,
  {
    decision,
    terms,
    hasReason,
  }: {
    readonly decision: Decision;
    readonly terms: ApproveTerms;
    /** True when the approver gave a reason. */
    readonly hasReason: boolean;
  },
): EditRefusal | null {
  const { effect, rule, reason } = decision;
  if (effect === "deny") return { rule, reason: `the rules deny the changed call: ${reason}` };
  if (effect === "allow") return null;
  const fixing = fixedBy(terms.requirements);
  if (fixing !== null)
    return {
      rule: fixing,
      reason: `rule ${fixing} about the changed call lets approvers change no arguments`,
    };
  const missing = terms.requirements.find(
    (one) => !approval.requirements.some((met) => isMet(one, met, { terms, approval })),
  );
  if (missing !== undefined)
    return {
      rule: missing.rules[0] ?? rule,
      reason: "the rules want other people, or more of them, to approve the changed call",
    };
  if (terms.reasonFor.includes("approvals") && !hasReason)
    return { rule, reason: "the rules require a reason for approval of the changed call" };
  return null;
}

/** Returns a rule that lets no approver change arguments. */
function fixedBy(requirements: readonly ApprovalRequirement[]): string | null {
  return requirements.find(({ isFixed }) => isFixed === true)?.rules[0] ?? null;
}

/** True when the requirement of the approval names the same people, asks for no less, and adds people no earlier. */
function isMet(
  wanted: ApprovalRequirement,
  met: ApprovalRequirement,
  { terms, approval }: { terms: ApproveTerms; approval: Pick<Approval, "requestedAt"> },
): boolean {
  const wait = escalatesAfter(wanted, terms.requestedAtMs);
  const waited = escalatesAfter(met, Date.parse(approval.requestedAt));
  return (
    peopleOf(met) === peopleOf(wanted) &&
    met.count >= wanted.count &&
    (met.notRequester || !wanted.notRequester) &&
    (waited === null || (wait !== null && waited >= wait - CLOCK_SLACK_MS))
  );
}

/** Between the terms of a call and its approval, the service may have waited for Redis. */
const CLOCK_SLACK_MS = 500;

function escalatesAfter({ escalatesAt }: ApprovalRequirement, requestedAtMs: number) {
  return escalatesAt === null ? null : Date.parse(escalatesAt) - requestedAtMs;
}

function peopleOf({ from, users, to, toUsers }: ApprovalRequirement): string {
  return canonicalJson([from, users, to, toUsers]);
}

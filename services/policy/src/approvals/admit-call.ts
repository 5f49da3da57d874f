import {
  bindingDigest,
  type Approval,
  type AskedTier,
  type SessionGrant,
} from "@switchyard/contracts/policy/approval-record";
import type { admitCall as contract } from "@switchyard/contracts/policy/approval-admission";
import { canonicalDigest } from "@switchyard/contracts/canonical-json";
import type { Principal } from "@switchyard/contracts/policy/policy";
import type { ApproveTerms } from "@switchyard/rules/engine/approve-terms";
import type { z } from "zod";
import { approvalIdOf, grantIdOf, randomApprovalId, type GrantScope } from "./approval-id.ts";
import { entryOf, type ApprovalIndex } from "./approval-index.ts";
import type { ApprovalReporter } from "./approval-reporter.ts";
import {
  escalationsOf,
  type ApprovalStore,
  type StoredApproval,
  type Transition,
} from "./approval-store.ts";
import { constraintOf } from "./argument-constraint.ts";
import { editRefusal } from "./edit-call.ts";
import { callRisk } from "./call-risk.ts";
import type { GrantStore } from "./grant-store.ts";
import type { LastApproved } from "./last-approved.ts";
import { presentArguments } from "./present-arguments.ts";
import type { PromptLimit } from "./prompt-limit.ts";

type AdmitRequest = z.output<typeof contract.request>;
export type Admission = z.output<typeof contract.reply>;

export interface AdmitDeps {
  readonly store: ApprovalStore;
  readonly index: ApprovalIndex;
  readonly grants: GrantStore;
  readonly lastApproved: LastApproved;
  readonly promptLimit: PromptLimit;
  /** The number of calls of one user that may wait for a person at a time. */
  readonly pendingPerUser: number;
  readonly report: ApprovalReporter;
  /** The time that a person has to decide, in milliseconds. */
  readonly waitMs: number;
  readonly now: () => number;
}

/** A call that needs approval, of any principal, with the facts that the policy service itself has about it. */
export interface AskedCall extends GrantScope {
  readonly request: AdmitRequest;
  readonly provider: string;
  readonly tier: AskedTier;
  readonly binding: string;
  /** The people who have to approve it, by every rule that matches it. */
  readonly terms: ApproveTerms;
}

/** Builds the call as the policy service sees it: the principal comes from the token, never from the provider. */
export function askedCall(
  request: AdmitRequest,
  facts: { principal: Principal; provider: string; tier: AskedTier; terms: ApproveTerms },
): AskedCall {
  const { principal, provider, tier, terms } = facts;
  const { onBehalfOf: caller, tool, pin, args, decision } = request;
  const { rule, policyDigest } = decision;
  const binding = bindingDigest({ principal, caller, tool, pin, args, decision });
  const { requirements } = terms;
  const scope = { principal, caller, tool, pin: pin ?? null, rule, policyDigest, requirements };
  return { ...scope, request, provider, tier, binding, terms };
}

/**
 * Lets the call pass, once, when a person has approved it or calls of its kind; refuses it when it was denied or its time is
 * over; otherwise requests approval, once for each call.
 */
export async function admitCall(deps: AdmitDeps, call: AskedCall): Promise<Admission> {
  if (call.request.editOf !== undefined) return admitEdited(deps, call, call.request.editOf);
  const known = await standingApproval(deps, call);
  if (known?.editedArgs && known.approval.edit && known.approval.state === "approved") {
    const { id, edit } = known.approval;
    const reason = `${edit.by} changed its arguments, and this provider cannot make it with others; update it`;
    return { ...refusal(id, "denied", reason), edited: { by: edit.by, args: known.editedArgs } };
  }
  if (known !== null && known.approval.state !== "pending")
    return pursue(deps, call, known.approval);
  const grant = await useGrant(deps, call);
  if (grant !== null) {
    if (known !== null) await coverPending(deps, known.approval, grant);
    return { outcome: "passed", approvalId: null, grantId: grant.id, by: grant.grantedBy };
  }
  if (known !== null) return pursue(deps, call, known.approval);
  if (!(await deps.promptLimit.take(call.principal))) return tooManyPrompts(deps.promptLimit);
  return ask(deps, call);
}

/** Lets a call with changed arguments pass, once. The rules have decided about these arguments since. */
async function admitEdited(deps: AdmitDeps, call: AskedCall, id: string): Promise<Admission> {
  const { principal, caller, tool, pin, terms, request } = call;
  const stored = await deps.store.read(id);
  const edit = stored?.approval.edit;
  if (stored === null || edit === undefined) return refusal(id, "expired");
  const { approval } = stored;
  const isSame =
    approval.callId === (request.callId ?? null) &&
    bindingDigest({
      principal,
      caller,
      tool,
      pin: pin ?? undefined,
      args: request.args,
      decision: approval,
    }) === edit.binding;
  if (!isSame || approval.policyDigest !== call.policyDigest)
    return refusal(null, "denied", "it is not the call that was approved with changed arguments");
  const refused = editRefusal(approval, {
    decision: request.decision,
    terms,
    hasReason: typeof approval.decision?.reason === "string",
  });
  if (refused !== null) return refusal(id, "denied", refused.reason);
  return pursue(deps, call, approval);
}

/**
 * Returns the approval of this call, unless it belongs to rules that were replaced and restored, or a stop ended it: neither is a
 * decision about the call.
 */
async function standingApproval(deps: AdmitDeps, call: AskedCall): Promise<StoredApproval | null> {
  const known = await knownApproval(deps, call);
  if (known?.isVoid !== true) return known;
  const { approval } = known;
  await deps.index.forget({ id: approval.id, cursor: entryOf(approval) });
  return null;
}

async function knownApproval(deps: AdmitDeps, call: AskedCall): Promise<StoredApproval | null> {
  const { callId, approvalId } = call.request;
  if (callId !== undefined) return deps.store.read(approvalIdOf(call.binding, callId));
  if (approvalId === undefined) return null;
  const found = await deps.store.read(approvalId);
  // An approval of another call does not apply to this one.
  const isOfCall = found?.approval.binding === call.binding && found.approval.callId === null;
  return isOfCall ? found : null;
}

/** Continues with an existing approval: consumes it, keeps waiting, or returns how it ended. */
async function pursue(deps: AdmitDeps, call: AskedCall, approval: Approval): Promise<Admission> {
  const { store, now } = deps;
  const { attempt } = call.request;
  const transition = await store.consume(approval.id, { attempt, now: now() });
  if (transition === null) return refusal(approval.id, "expired");
  await follow(deps, transition);
  const { approval: stands } = transition;
  // The process that created the approval may have died before adding it to the index.
  if (stands.state === "pending") await deps.index.put(stands);
  if (transition.change === "done") {
    deps.report.consumed(stands, call.provider);
    await rememberApproved(deps, call);
    const by = stands.decision?.by ?? "policy";
    return { outcome: "passed", approvalId: stands.id, grantId: null, by };
  }
  return waitingOrRefused(stands);
}

async function ask(deps: AdmitDeps, call: AskedCall): Promise<Admission> {
  const { store, index, report, lastApproved, pendingPerUser } = deps;
  const approval = newApproval(deps, call);
  if (!(await index.reserve(approval, { limit: pendingPerUser, now: deps.now() })))
    return tooManyPending(call.principal.user, pendingPerUser);
  const last = await lastApproved.read(call);
  const { presentation, comparable } = presentArguments(call.request.args, last);
  const { isNew, stored } = await store.create({ approval, presentation, comparable });
  if (isNew) report.requested(stored.approval);
  await index.put(stored.approval);
  return waitingOrRefused(stored.approval);
}

function newApproval({ waitMs, now }: AdmitDeps, call: AskedCall): Approval {
  const { request, binding, tier, principal, caller, tool, pin, rule, policyDigest } = call;
  const { callId, args, decision } = request;
  const { requirements, needed, reasonFor, withinMs } = call.terms;
  const requestedAt = now();
  return {
    id: callId === undefined ? randomApprovalId() : approvalIdOf(binding, callId),
    state: "pending",
    tier,
    risk: callRisk(tool, tier),
    binding,
    principal,
    caller,
    tool,
    pin,
    argsDigest: canonicalDigest(args),
    rule,
    why: decision.reason,
    policyDigest,
    callId: callId ?? null,
    grantTtlMs: decision.ttlMs ?? null,
    requestedAt: new Date(requestedAt).toISOString(),
    expiresAt: new Date(requestedAt + (withinMs ?? waitMs)).toISOString(),
    decision: null,
    requirements,
    votes: [],
    needed,
    reasonFor,
    escalatesAt: escalationsOf({ requirements })[0] ?? null,
    consumedAt: null,
    execution: null,
    resultDigest: null,
  };
}

function waitingOrRefused(approval: Approval): Admission {
  const { id, state, decision, execution, expiresAt, tier } = approval;
  switch (state) {
    case "pending":
    case "approved":
      return { outcome: "waiting", approvalId: id, expiresAt, tier };
    case "denied":
    case "cancelled": {
      const by = decision === null ? "" : ` by ${decision.by}`;
      const why = decision?.reason ?? null;
      return refusal(id, state, `${state}${by}${why === null ? "" : `: ${why}`}`);
    }
    case "expired":
      return refusal(id, state);
    case "consumed":
      return refusal(id, state, execution === "executed" ? REASONS.used : REASONS.consumed);
    default:
      return state satisfies never;
  }
}

const REASONS = {
  expired: "no approval came in time",
  consumed:
    "its approval was used for an attempt whose end is not known; the call may have happened, and is not made again",
  used: "its approval was used for a call that has ended, and holds for one; ask for another with a new call",
} as const;

/** The call must not be sent, now or later. */
export function refusal(
  approvalId: string | null,
  state: "denied" | "expired" | "cancelled" | "consumed",
  reason?: string,
): Extract<Admission, { outcome: "refused" }> {
  const text = reason ?? (state === "expired" || state === "consumed" ? REASONS[state] : state);
  return { outcome: "refused", approvalId, state, reason: text };
}

function tooManyPrompts({ limit, perMs }: PromptLimit): Admission {
  const reason = `more than ${limit} approvals were requested within ${Math.round(perMs / 60_000)} minutes; this call is denied without another request`;
  return { outcome: "refused", approvalId: null, state: "rate_limited", reason };
}

function tooManyPending(user: string, limit: number): Admission {
  const reason = `${limit} calls of ${user} wait for an approval already; this call is denied without asking, decide about those first`;
  return { outcome: "refused", approvalId: null, state: "rate_limited", reason };
}

/** Returns a grant of the tier `session` for calls like this one, after counting one use. */
async function useGrant(deps: AdmitDeps, call: AskedCall): Promise<SessionGrant | null> {
  if (call.tier !== "session") return null;
  const stored = await deps.grants.read(grantIdOf(call));
  if (stored === null) return null;
  const { grant, constraint } = stored;
  if (constraint !== null) {
    const { comparable } = presentArguments(call.request.args, null);
    if (constraintOf(comparable, grant.sameArguments) !== constraint) return null;
  }
  if (!(await deps.grants.use(stored, deps.now()))) return null;
  const argsDigest = canonicalDigest(call.request.args);
  deps.report.grantUsed(grant, { argsDigest, provider: call.provider });
  return grant;
}

/** Cancels the pending approval of a call that a session grant has just let pass. */
async function coverPending(
  deps: AdmitDeps,
  { id }: Approval,
  { grantedBy }: SessionGrant,
): Promise<void> {
  const at = new Date(deps.now()).toISOString();
  const reason = `covered by a session grant of ${grantedBy}`;
  const by = { by: "policy", authenticated: "policy-service", scope: null, reason, at } as const;
  const to = { state: "cancelled", decision: by, consumeByMs: null, now: deps.now() } as const;
  const transition = await deps.store.decide(id, to);
  if (transition === null) return;
  await follow(deps, transition);
  if (transition.change === "done") deps.report.decided(transition.approval);
}

async function rememberApproved(deps: AdmitDeps, call: AskedCall): Promise<void> {
  const { comparable } = presentArguments(call.request.args, null);
  await deps.lastApproved.write(call, comparable);
}

/** Updates index and events after a change of a record. */
export async function follow(
  { index, report }: Pick<AdmitDeps, "index" | "report">,
  { change, approval }: Transition,
): Promise<void> {
  if (change === "none" || change === "changed") return;
  await index.put(approval);
  if (change === "expired") report.expired(approval);
}

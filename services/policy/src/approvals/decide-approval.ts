import type {
  Approval,
  ApprovalDecision,
  SessionGrant,
} from "@switchyard/contracts/policy/approval-record";
import type { ApprovalVote, GrantTerms } from "@switchyard/contracts/policy/approval-votes";
import type { People } from "@switchyard/rules/rights/people";
import { follow } from "./admit-call.ts";
import { grantIdOf } from "./approval-id.ts";
import type { ApprovalIndex } from "./approval-index.ts";
import type { ApprovalReporter } from "./approval-reporter.ts";
import {
  atTime,
  type ApprovalStore,
  type StoredApproval,
  type StoredEdit,
} from "./approval-store.ts";
import { constraintOf } from "./argument-constraint.ts";
import { castVote, commonTerms, isSameVote } from "./cast-vote.ts";
import type { GrantStore } from "./grant-store.ts";

export interface DecideDeps {
  readonly store: ApprovalStore;
  readonly index: ApprovalIndex;
  readonly grants: GrantStore;
  readonly report: ApprovalReporter;
  readonly now: () => number;
}

/** A decision that ends the approval, or the approval by one person where others have to approve, too. */
export interface Verdict {
  readonly by: string;
  readonly reason: string | null;
  /** True when it came through the gateway. */
  readonly isOverHttp?: boolean;
  /** The channel of the chat in which a linked person pressed a button. */
  readonly via?: string;
}

export interface Approving extends Verdict {
  readonly terms: GrantTerms | null;
  /** The arguments that the person put in the place of the requested ones. */
  readonly edit?: StoredEdit | null;
  /** See `ApprovalVote`. */
  readonly isApprover: boolean;
  readonly people: People;
}

/** `isMine` is true when the state is the one that this verdict requested, set by it or by an identical earlier one. */
export interface Verdicts {
  readonly isMine: boolean;
  readonly approval: Approval;
  readonly grant: SessionGrant | null;
}

/** The vote adds nothing: `by` has approved as this person, or null when enough others have. */
export interface IdleVote {
  readonly idleBeside: string | null;
  readonly approval: Approval;
}

/** A waiting caller may return late, but no call is made long after a person reviewed it. */
const CONSUME_WITHIN_MS = 60 * 60 * 1_000;
/** The lifetime of a grant by a rule that sets no `ttl`. */
const GRANT_TTL_MS = 30 * 60 * 1_000;
const GRANT_USES = 1_000;
const COVER_AT_MOST = 2_000;
const PAGE = 200;

/**
 * Adds one person's approval. It is counted with the votes that are stored, in one compare-and-set: when another replica has stored
 * one in between, it is counted again. Null when there is no such approval.
 */
export async function voteFor(
  deps: DecideDeps,
  first: StoredApproval,
  approving: Approving,
): Promise<Verdicts | IdleVote | null> {
  const scope = approving.terms === null ? ("once" as const) : ("session" as const);
  let stored: StoredApproval | null = first;
  while (stored !== null) {
    const now = deps.now();
    const { by, reason, isApprover, terms, people, edit = null } = approving;
    const proof = proofOf(approving);
    const { authenticated } = proof;
    const at = new Date(now).toISOString();
    const vote = { by, authenticated, isApprover, scope, terms, reason, at };
    const { approval } = stored;
    if (atTime(approval, now).state !== "pending")
      return endedBefore(deps, stored, { ...vote, edit });
    const cast = castVote(approval, vote, people);
    if (cast.outcome === "repeated") return { isMine: true, approval, grant: null };
    if (cast.outcome === "idle") return { idleBeside: cast.by, approval };
    const common = commonTerms(cast.votes);
    const decision = { by, ...proof, scope: scopeOf(common), reason, at };
    const consumeByMs = now + CONSUME_WITHIN_MS;
    const transition = await deps.store.vote(approval.id, {
      ...cast,
      revision: stored.revision,
      approval: cast.isComplete ? { decision, consumeByMs, edit } : null,
      now,
    });
    if (transition === null) return null;
    if (transition.change === "changed" || transition.change === "none") {
      stored = await deps.store.read(approval.id);
      continue;
    }
    await follow(deps, transition);
    if (transition.change === "expired")
      return { isMine: false, approval: transition.approval, grant: null };
    return afterVote(deps, { ...stored, approval: transition.approval }, common);
  }
  return null;
}

async function afterVote(
  deps: DecideDeps,
  stored: StoredApproval,
  terms: GrantTerms | null,
): Promise<Verdicts> {
  const { approval } = stored;
  const vote = approval.votes.at(-1);
  // A call that one person decides has one record and one event: the decision.
  if (approval.requirements.length > 0 && vote !== undefined) deps.report.voted(approval, vote);
  if (approval.state !== "approved") return { isMine: true, approval, grant: null };
  deps.report.decided(approval);
  const grant = terms === null ? null : await issueGrant(deps, stored, terms);
  return { isMine: true, approval, grant };
}

/** The vote came late, or again after the call was approved. */
async function endedBefore(
  deps: DecideDeps,
  { approval: { id } }: StoredApproval,
  vote: Pick<ApprovalVote, "by" | "scope" | "reason"> & { readonly edit: StoredEdit | null },
): Promise<Verdicts | null> {
  const transition = await deps.store.expire(id, deps.now());
  if (transition === null) return null;
  await follow(deps, transition);
  const { approval } = transition;
  const isMine =
    approval.state === "approved" &&
    approval.edit?.argsDigest === vote.edit?.edit.argsDigest &&
    approval.votes.some((one) => isSameVote(one, vote));
  return { isMine, approval, grant: null };
}

function scopeOf(terms: GrantTerms | null): "once" | "session" {
  return terms === null ? "once" : "session";
}

/** Denies or cancels, which one person can do. The first decision counts. A later one gets the present state. */
export async function endApproval(
  deps: DecideDeps,
  { approval: { id } }: Pick<StoredApproval, "approval">,
  verdict: Verdict & { readonly state: "denied" | "cancelled" },
): Promise<Verdicts | null> {
  const now = deps.now();
  const { state } = verdict;
  const decision = decisionOf(verdict, now);
  const transition = await deps.store.decide(id, { state, decision, consumeByMs: null, now });
  if (transition === null) return null;
  await follow(deps, transition);
  const { approval, change } = transition;
  if (change === "done") deps.report.decided(approval);
  const isMine = change === "done" || isSame(approval, decision, state);
  return { isMine, approval, grant: null };
}

/** Ends a pending approval for a reason that no person gave. */
export async function cancelByPolicy(
  deps: DecideDeps,
  stored: StoredApproval,
  reason: string,
): Promise<Verdicts | null> {
  return endApproval(deps, stored, { state: "cancelled", by: POLICY, reason });
}

/**
 * Ends an approval of other rules, or of a stopped call, that waits, or was approved and not used. The same call may be requested
 * again when the rules are restored or the stop is lifted.
 */
export async function voidApproval(
  deps: DecideDeps,
  { approval: { id } }: StoredApproval,
  reason = "the rules changed",
): Promise<Approval | null> {
  const now = deps.now();
  const verdict = { state: "cancelled", by: POLICY, reason } as const;
  const transition = await deps.store.void(id, { decision: decisionOf(verdict, now), now });
  if (transition === null) return null;
  await follow(deps, transition);
  if (transition.change === "done") deps.report.decided(transition.approval);
  return transition.approval;
}

const POLICY = "policy";

function decisionOf(verdict: Verdict, now: number): ApprovalDecision {
  const at = new Date(now).toISOString();
  return { by: verdict.by, ...proofOf(verdict), scope: null, reason: verdict.reason, at };
}

/** Returns the proof of the person's identity, with the channel of a chat. */
function proofOf({
  by,
  isOverHttp,
  via,
}: Verdict): Pick<ApprovalDecision, "authenticated" | "via"> {
  if (by === POLICY) return { authenticated: "policy-service" };
  if (via !== undefined) return { authenticated: "chat-link", via };
  return { authenticated: isOverHttp === true ? "user-token" : "nats-user" };
}

function isSame(approval: Approval, wanted: ApprovalDecision, state: Approval["state"]): boolean {
  const { decision } = approval;
  return (
    approval.state === state && decision?.by === wanted.by && decision.reason === wanted.reason
  );
}

async function issueGrant(
  deps: DecideDeps,
  { approval, comparable }: StoredApproval,
  terms: GrantTerms,
): Promise<SessionGrant> {
  const { principal, tool, pin, rule, policyDigest, decision, id: approvalId } = approval;
  const now = deps.now();
  const longest = approval.grantTtlMs ?? GRANT_TTL_MS;
  const grant: SessionGrant = {
    id: grantIdOf(approval),
    principal,
    tool,
    pin,
    rule,
    policyDigest,
    sameArguments: [...terms.sameArguments],
    approvalId,
    grantedBy: decision?.by ?? POLICY,
    grantedAt: new Date(now).toISOString(),
    expiresAt: new Date(now + Math.min(terms.ttlMs ?? longest, longest)).toISOString(),
    usesLeft: terms.maxUses ?? GRANT_USES,
    requirements: approval.requirements,
  };
  const isConstrained = terms.sameArguments.length > 0;
  const constraint = isConstrained ? constraintOf(comparable, terms.sameArguments) : null;
  await deps.grants.put({ grant, constraint });
  deps.report.grantIssued(grant);
  if (!isConstrained) await coverOthers(deps, { grant, constraint });
  return grant;
}

/** Other calls that wait for the same permission, such as those of the same step, need no prompt of their own. */
async function coverOthers(
  deps: DecideDeps,
  stored: { readonly grant: SessionGrant; readonly constraint: string | null },
): Promise<void> {
  const { grant } = stored;
  await eachPending(deps, COVER_AT_MOST, async (other) => {
    // An approval of the tier `always` can belong to the same rule: because of its run's flow labels, each of its calls needs
    // approval.
    if (other.approval.tier !== "session" || grantIdOf(other.approval) !== grant.id) return;
    if (!(await deps.grants.use(stored, deps.now()))) return;
    await cover(deps, other, grant);
  });
}

/** The people who gave the grant have approved this call with it, however many it needs. */
async function cover(
  deps: DecideDeps,
  { approval: { id } }: StoredApproval,
  { id: grantId, grantedBy: by }: SessionGrant,
): Promise<void> {
  const now = deps.now();
  const decision: ApprovalDecision = {
    by,
    authenticated: "nats-user",
    scope: "once",
    reason: `covered by ${grantId}`,
    at: new Date(now).toISOString(),
  };
  const consumeByMs = now + CONSUME_WITHIN_MS;
  const transition = await deps.store.decide(id, { state: "approved", decision, consumeByMs, now });
  if (transition === null) return;
  await follow(deps, transition);
  if (transition.change === "done") deps.report.decided(transition.approval);
}

/** Iterates over the pending approvals, newest first. */
export async function eachPending(
  { index, store, now }: Pick<DecideDeps, "index" | "store" | "now">,
  atMost: number,
  visit: (stored: StoredApproval) => Promise<void>,
): Promise<void> {
  let cursor: string | null = null;
  for (let seen = 0; seen < atMost;) {
    const entries = await index.page("pending", { limit: PAGE, cursor });
    if (entries.length === 0) return;
    seen += entries.length;
    cursor = entries.at(-1)?.cursor ?? null;
    const records = await store.readMany(entries.map(({ id }) => id));
    for (const [at, entry] of entries.entries()) {
      const stored = records[at] ?? null;
      if (stored === null) await index.forget(entry);
      else if (stored.approval.state !== "pending") await index.put(stored.approval);
      else if (now() < Date.parse(stored.approval.expiresAt)) await visit(stored);
    }
  }
}

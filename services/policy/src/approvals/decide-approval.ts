import type {
  Approval,
  ApprovalDecision,
  SessionGrant,
} from "@switchyard/contracts/approval-record";
import { follow } from "./admit-call.ts";
import { grantIdOf } from "./approval-id.ts";
import type { ApprovalIndex } from "./approval-index.ts";
import type { ApprovalReporter } from "./approval-reporter.ts";
import type { ApprovalStore, StoredApproval } from "./approval-store.ts";
import { constraintOf } from "./argument-constraint.ts";
import type { GrantStore } from "./grant-store.ts";

export interface DecideDeps {
  readonly store: ApprovalStore;
  readonly index: ApprovalIndex;
  readonly grants: GrantStore;
  readonly report: ApprovalReporter;
  readonly now: () => number;
}

/** A person's decision. */
export type Verdict = {
  /** True when it came through the gateway. */
  readonly isOverHttp?: boolean;
} & (
  | {
      readonly state: "approved";
      readonly by: string;
      readonly reason: string | null;
      readonly grant: GrantTerms | null;
    }
  | { readonly state: "denied" | "cancelled"; readonly by: string; readonly reason: string | null }
);

export interface GrantTerms {
  readonly ttlMs: number | null;
  readonly maxUses: number | null;
  readonly sameArguments: readonly string[];
}

/** `isMine` is true when the state is the one that this verdict requested, set by it or by an identical earlier one. */
export interface Verdicts {
  readonly isMine: boolean;
  readonly approval: Approval;
  readonly grant: SessionGrant | null;
}

/** A waiting caller may return late, but no call is made long after a person reviewed it. */
const CONSUME_WITHIN_MS = 60 * 60 * 1_000;
/** The lifetime of a grant by a rule that sets no `ttl`. */
const GRANT_TTL_MS = 30 * 60 * 1_000;
const GRANT_USES = 1_000;
const COVER_AT_MOST = 2_000;
const PAGE = 200;

/** The first verdict counts. A later one gets the present state. */
export async function decideApproval(
  deps: DecideDeps,
  stored: StoredApproval,
  verdict: Verdict,
): Promise<Verdicts | null> {
  const now = deps.now();
  const decision = decisionOf(verdict, now);
  const consumeByMs = verdict.state === "approved" ? now + CONSUME_WITHIN_MS : null;
  const { id } = stored.approval;
  const transition = await deps.store.decide(id, {
    state: verdict.state,
    decision,
    consumeByMs,
    now,
  });
  if (transition === null) return null;
  await follow(deps, transition);
  const { approval } = transition;
  if (transition.change !== "done")
    return { isMine: isSame(approval, decision, verdict.state), approval, grant: null };
  deps.report.decided(approval);
  if (verdict.state !== "approved" || verdict.grant === null)
    return { isMine: true, approval, grant: null };
  const grant = await issueGrant(deps, { ...stored, approval }, verdict.grant);
  return { isMine: true, approval, grant };
}

/** Ends a pending approval for a reason that no person gave. */
export async function cancelByPolicy(
  deps: DecideDeps,
  stored: StoredApproval,
  reason: string,
): Promise<Verdicts | null> {
  return decideApproval(deps, stored, { state: "cancelled", by: POLICY, reason });
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
  const { by, reason } = verdict;
  const ofPerson = verdict.isOverHttp === true ? "user-token" : "nats-user";
  const authenticated = by === POLICY ? "policy-service" : ofPerson;
  const at = new Date(now).toISOString();
  if (verdict.state !== "approved") return { by, authenticated, scope: null, reason, at };
  return { by, authenticated, scope: verdict.grant === null ? "once" : "session", reason, at };
}

function isSame(approval: Approval, wanted: ApprovalDecision, state: Verdict["state"]): boolean {
  const { decision } = approval;
  return (
    approval.state === state &&
    decision?.by === wanted.by &&
    decision.scope === wanted.scope &&
    decision.reason === wanted.reason
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
    await decideApproval(deps, other, {
      state: "approved",
      by: grant.grantedBy,
      reason: `covered by ${grant.id}`,
      grant: null,
    });
  });
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

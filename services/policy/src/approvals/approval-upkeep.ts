import type { Approval, SessionGrant } from "@switchyard/contracts/policy/approval-record";
import { follow } from "./admit-call.ts";
import { eachPending, voidApproval, type DecideDeps } from "./decide-approval.ts";

const DUE_PAGE = 200;
const LISTED_GRANTS = 10_000;

/** Records that an approval's time is over, if it is, or that other people may approve it from now on. */
export async function expireOne(deps: DecideDeps, id: string): Promise<void> {
  const transition = await deps.store.expire(id, deps.now());
  if (transition === null) return deps.index.forget({ id, cursor: "" });
  if (transition.change !== "none") return follow(deps, transition);
  await deps.index.put((await escalateDue(deps, id)) ?? transition.approval);
}

/** Publishes each escalation once, whichever replica gets the timer; the people may approve by the time alone. */
async function escalateDue(deps: DecideDeps, id: string): Promise<Approval | null> {
  for (;;) {
    const stored = await deps.store.read(id);
    const at = stored?.approval.escalatesAt ?? null;
    if (stored === null || at === null || deps.now() < Date.parse(at))
      return stored?.approval ?? null;
    const { escalations: published } = stored;
    const transition = await deps.store.escalate(id, { published, now: deps.now() });
    if (transition === null) return null;
    await follow(deps, transition);
    if (transition.change === "done") deps.report.escalated(transition.approval, at);
    if (transition.change === "expired") return transition.approval;
  }
}

/** Expires all approvals whose timer was lost. */
export async function expireDue(deps: DecideDeps): Promise<void> {
  for (;;) {
    const ids = await deps.index.due(deps.now(), DUE_PAGE);
    for (const id of ids) await expireOne(deps, id);
    if (ids.length < DUE_PAGE) return;
  }
}

export type Concerned = Pick<Approval | SessionGrant, "principal" | "tool" | "policyDigest">;

/**
 * Ends approvals and grants of rules other than those in force: pending approvals, approved but unused ones, and grants. A
 * decision under one policy does not apply under another, even when the first one is restored.
 */
export async function endOfOtherRules(deps: DecideDeps, inForce: string): Promise<void> {
  const ids = await deps.index.open();
  for (let from = 0; from < ids.length; from += DUE_PAGE) {
    const page = ids.slice(from, from + DUE_PAGE);
    for (const stored of await deps.store.readMany(page)) {
      if (stored !== null && stored.approval.policyDigest !== inForce)
        await voidApproval(deps, stored);
    }
  }
  await endGrants(deps, ({ policyDigest }) => policyDigest !== inForce, "the rules changed");
}

/**
 * Ends the waiting approvals and the grants that match, because of a stop. A stop is no decision about the calls, so approval may
 * be requested again when the stop is lifted.
 */
export async function endAll(
  deps: DecideDeps,
  fits: (one: Concerned) => boolean,
  reason: string,
): Promise<void> {
  await eachPending(deps, Number.POSITIVE_INFINITY, async (stored) => {
    if (fits(stored.approval)) await voidApproval(deps, stored, reason);
  });
  await endGrants(deps, fits, reason);
}

async function endGrants(
  deps: DecideDeps,
  fits: (grant: SessionGrant) => boolean,
  reason: string,
): Promise<void> {
  for (const { grant } of await deps.grants.list(deps.now(), LISTED_GRANTS)) {
    if (!fits(grant)) continue;
    await deps.grants.remove(grant.id);
    deps.report.grantRevoked(grant, { by: "policy", reason });
  }
}

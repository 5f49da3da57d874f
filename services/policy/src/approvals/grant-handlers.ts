import type { CallContext } from "@switchyard/bus/handler";
import type { Service } from "@switchyard/bus/serve";
import { failuresOf } from "@switchyard/contracts/errors";
import type { SessionGrant } from "@switchyard/contracts/policy/approval-record";
import { listGrants, revokeGrant } from "@switchyard/contracts/policy/session-grants";
import { orUnavailable, type ApprovalHandlerDeps } from "./approval-handlers.ts";
import { concerns, settingsFor } from "./approver.ts";

const LISTED_GRANTS = 10_000;

const fail = failuresOf(revokeGrant.errors);

/** Handles the requests about approvals for a session. */
export function handleGrants(
  service: Service,
  deps: Pick<
    ApprovalHandlerDeps,
    "grants" | "settings" | "now" | "report" | "policyDigest" | "recordable"
  >,
): void {
  const { grants, settings, now, report } = deps;
  const isMine = (who: Pick<CallContext, "caller" | "roles">, grant: SessionGrant): boolean =>
    concerns(settingsFor(settings, who), who.caller, grant) || grant.principal.user === who.caller;

  service.handle(listGrants, async ({ limit }, context) => {
    const all = await orUnavailable(() => grants.list(now(), LISTED_GRANTS));
    // A grant under other rules is void, even while it is not removed yet.
    const inForce = all.filter(({ grant }) => grant.policyDigest === deps.policyDigest());
    const shown = inForce.map(({ grant }) => grant).filter((grant) => isMine(context, grant));
    return { grants: shown.slice(0, limit) };
  });

  service.handle(revokeGrant, async ({ id }, context) => {
    const { caller } = context;
    const stored = await orUnavailable(() => grants.read(id));
    // The principal that a grant benefits may revoke it.
    if (stored === null || !isMine(context, stored.grant))
      throw fail.unknown_grant(`There is no grant ${id} for ${caller}.`, { id });
    deps.recordable(fail.approvals_unavailable);
    await orUnavailable(() => grants.remove(id));
    report.grantRevoked(stored.grant, { by: caller, reason: "revoked" });
    return { grant: stored.grant };
  });
}

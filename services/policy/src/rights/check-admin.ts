import type { CallContext } from "@switchyard/bus/serve";
import { failuresOf } from "@switchyard/contracts/errors";
import { activatePolicy } from "@switchyard/contracts/policy-bundles";
import { isAdmin } from "@switchyard/contracts/user-roles";

const fail = failuresOf(activatePolicy.errors);

/** Who may change the policy: NATS users that are named, and over HTTP who has the role. */
export function checkAdmin(
  admins: readonly string[],
  { caller, roles }: Pick<CallContext, "caller" | "roles">,
): void {
  if (isAdmin(admins, { caller, roles })) return;
  const setting = "YARD_POLICY_ADMINS";
  throw fail.forbidden_admin(
    `NATS user ${caller} may not change the policy. Who may is in the policy service's setting ${setting}.`,
    { caller, setting },
  );
}

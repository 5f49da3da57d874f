import type { VerifiedCaller } from "@switchyard/bus/verified-caller";
import { ServiceError } from "@switchyard/contracts/errors";
import { isAdmin } from "@switchyard/contracts/user-roles";

/**
 * The caller, when it is one of the NATS users that the service's setting names, or has the role over HTTP. Throws `forbidden_admin` for any other
 * caller, which every contract for admins declares. `may` is the action that is refused, `service` is the service whose setting it is.
 */
export function requireAdmin(
  admins: readonly string[],
  { caller, roles }: VerifiedCaller,
  { may, service }: { may: string; service: string },
): string {
  if (isAdmin(admins, { caller, roles })) return caller;
  const setting = "YARD_ADMINS";
  const message = `NATS user ${caller} may not ${may}. Who may is in ${service}'s setting ${setting}.`;
  throw new ServiceError("forbidden_admin", message, { data: { caller, setting } });
}

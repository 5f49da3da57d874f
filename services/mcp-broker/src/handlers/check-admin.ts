import type { VerifiedCaller } from "@switchyard/bus/verified-caller";
import { requireAdmin } from "@switchyard/service/require-admin";

/** The caller, when it may do what is for the broker's admins; throws `forbidden_admin` otherwise. */
export function checkAdmin(
  admins: readonly string[],
  verified: VerifiedCaller,
  may: string,
): string {
  return requireAdmin(admins, verified, { may, service: "the broker" });
}

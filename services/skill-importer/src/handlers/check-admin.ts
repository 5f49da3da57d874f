import type { VerifiedCaller } from "@switchyard/bus/verified-caller";
import { requireAdmin } from "@switchyard/service/require-admin";

const IMPORTER = { may: "change what is imported", service: "the importer" };

/** Returns the caller if it may change the catalogue; throws `forbidden_admin` otherwise. */
export function checkAdmin(admins: readonly string[], verified: VerifiedCaller): string {
  return requireAdmin(admins, verified, IMPORTER);
}

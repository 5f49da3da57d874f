import type { VerifiedCaller } from "@switchyard/bus/verified-caller";
import { requireAdmin } from "@switchyard/service/require-admin";

const POLICY = { may: "change the policy", service: "the policy service" };

/** Checks that the caller may change the policy: configured NATS users, and over HTTP users with the role. */
export function checkAdmin(admins: readonly string[], verified: VerifiedCaller): void {
  requireAdmin(admins, verified, POLICY);
}

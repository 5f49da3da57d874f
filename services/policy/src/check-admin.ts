import type { VerifiedCaller } from "@switchyard/bus/verified-caller";
import { requireAdmin } from "@switchyard/service/require-admin";

const POLICY = {
  may: "change the policy",
  service: "the policy service",
  setting: "YARD_POLICY_ADMINS",
};

/** Who may change the policy: NATS users that are named, and over HTTP who has the role. */
export function checkAdmin(admins: readonly string[], verified: VerifiedCaller): void {
  requireAdmin(admins, verified, POLICY);
}

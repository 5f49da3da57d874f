import { z } from "zod";

/** One process of a service, such as `policy-1f2e3d4c5b6a7988`. */
export const AuditWriterId = z
  .string()
  .regex(/^[a-z0-9-]{1,32}-[0-9a-f]{16}$/, "must look like policy-1f2e3d4c5b6a7988");

/** An audit record by its writer and number: `policy-1f2e3d4c5b6a7988:17`. */
export const AuditRef = z
  .string()
  .regex(/^[a-z0-9-]{1,32}-[0-9a-f]{16}:[1-9]\d{0,15}$/, "must look like policy-1f2e…:17");

/** The NATS users whose processes write a chain of audit records. */
export const AUDIT_SERVICES = ["policy", "broker", "runner", "toolbox", "gateway"] as const;

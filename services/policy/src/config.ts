import { auditEnv } from "@switchyard/audit/start-audit";
import {
  adminsEnv,
  commaSeparated,
  envInteger,
  natsEnv,
  processEnv,
  redisEnv,
} from "@switchyard/service/env";
import { z } from "zod";

/** The form in which the audit has the values of arguments. */
export type ValueMode = "digests" | "encrypted" | "clear";

export const Config = z.object({
  ...processEnv,
  ...natsEnv,
  ...redisEnv,
  ...auditEnv,
  ...adminsEnv,
  /** The policy, a YAML file or a directory of them. They are read again when they change. */
  YARD_POLICY_FILE: z.string(),
  /**
   * The audit records arguments beside the digest of all: as keyed digests of the values, which need `audit-values.key` of the keys;
   * encrypted with that key; or in the clear, without secrets. `1` is the older name of `clear`.
   */
  YARD_AUDIT_VALUES: z
    .enum(["digests", "encrypted", "clear", "1", "true", "0", "false"])
    .default("digests")
    .transform((mode): ValueMode =>
      mode === "1" || mode === "true"
        ? "clear"
        : mode === "0" || mode === "false"
          ? "digests"
          : mode,
    ),
  /** Issuers whose JWTs the gateway accepts, a YAML file. */
  YARD_ISSUERS_FILE: z.string().optional(),
  /** The lifetime of a browser session at the gateway. */
  YARD_USER_SESSION_MS: envInteger(60_000, 30 * 86_400_000).default(12 * 3_600_000),
  /** NATS users that may decide about calls that wait for a person, and revoke, with commas. */
  YARD_APPROVERS: z.string().default("cli,admin").transform(commaSeparated),
  /**
   * The calls of its own that an approver may approve: `none`, those of `runs` that it started, or `all`. `never` is the older name of
   * `none`.
   */
  YARD_APPROVE_OWN: z
    .enum(["none", "never", "runs", "all"])
    .default("none")
    .transform((own) => (own === "never" ? "none" : own)),
});

import { adminsEnv, envFlag, natsEnv, processEnv, redisEnv } from "@switchyard/service/env";
import { z } from "zod";
import { GrantedRoles } from "@switchyard/skills/agents/granted-roles";

export const ImporterEnv = z.object({
  ...processEnv,
  ...natsEnv,
  ...redisEnv,
  ...adminsEnv,
  /** Absolute directories, separated as in PATH. All of them are imported at start; no other directory ever is. */
  YARD_SKILL_ROOTS: z.string().default(""),
  /** The roles that agents may have that clients send: `user:role` with commas and globs. Those of the roots may have any. */
  YARD_IMPORTED_AGENT_ROLES: GrantedRoles.default([]),
  /** A YAML file of findings that the operator accepts, each with its reason; read at start. */
  YARD_SCAN_SUPPRESSIONS: z.string().default(""),
  /** A YAML file of hosts and files that the operator adds to the scanner's own; read at start. */
  YARD_SCAN_INDICATORS: z.string().default(""),
  /** Not ready before an import found every file usable, so that a rollout stops at a bad file. */
  YARD_IMPORT_STRICT: envFlag().default(false),
});

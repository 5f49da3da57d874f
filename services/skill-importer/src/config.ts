import { envFlag, natsEnv, processEnv, redisEnv } from "@switchyard/service/env";
import { z } from "zod";

export const ImporterEnv = z.object({
  ...processEnv,
  ...natsEnv,
  ...redisEnv,
  /** Absolute directories, separated as in PATH. All of them are imported at start; nothing outside ever is. */
  YARD_SKILL_ROOTS: z.string().default(""),
  /** Imports again when a file changes. */
  YARD_IMPORT_WATCH: envFlag().default(false),
});

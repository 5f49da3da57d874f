import { constant } from "@switchyard/service/constant";
import { envInteger, natsEnv, processEnv, redisEnv, stateEnv } from "@switchyard/service/env";
import { auditEnv } from "@switchyard/audit/start-audit";
import { OnLimit } from "@switchyard/contracts/agent-runner/runs";
import { z } from "zod";
import { readS3Url } from "./journal/s3-objects.ts";
import type { SessionSettings } from "./sessions/open-sessions.ts";

/** The environment of the agent runner; docs/reference/settings.md explains each variable. */
export const RunnerEnv = z.object({
  ...processEnv,
  ...natsEnv,
  ...redisEnv,
  ...auditEnv,
  ...stateEnv,
  YARD_REDIS_WAIT_REPLICAS: envInteger(0, 5).default(0),
  YARD_RUNNER_SLOTS: envInteger(1, 1_000).default(16),
  YARD_RUN_TIMEOUT_MS: envInteger(1_000, 86_400_000).default(3_600_000),
  YARD_RUN_ON_LIMIT: OnLimit.default("fail"),
  YARD_TEAM_LIMITS_FILE: z.string().min(1).optional(),
  YARD_RUN_KEEP_DAYS: envInteger(1, 3_650).default(30),
  YARD_RUN_ARCHIVE_MS: envInteger(0, 365 * 86_400_000).default(3_600_000),
  YARD_RUN_ARCHIVE_URL: z
    .string()
    .refine(
      (value) => readS3Url(value) !== null,
      "must be a URL like s3://bucket/prefix?region=eu-central-1&endpoint=https://s3.example.com",
    )
    .optional(),
  YARD_FILES_MIB: envInteger(1, 1_048_576).default(256),
  YARD_SESSION_IDLE_MS: envInteger(1_000, 3_650 * 86_400_000).default(7 * 86_400_000),
  YARD_MODELS_FILE: z.string().min(1).optional(),
});
export type RunnerConfig = z.output<typeof RunnerEnv>;

export function sessionSettings(config: RunnerConfig): SessionSettings {
  return {
    idleMs: config.YARD_SESSION_IDLE_MS,
    maxPerOwner: constant("sessionMaxPerOwner", 1_000),
    // The size of a history; its oldest lines are deleted.
    maxMessages: 1_000,
    maxBytes: 1_048_576,
    maxQueued: constant("sessionMaxQueued", 20),
    contextBytes: 65_536,
  };
}

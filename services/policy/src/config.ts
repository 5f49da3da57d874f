import { natsEnv, processEnv, redisEnv } from "@switchyard/service/env";
import { z } from "zod";

export const Config = z.object({
  ...processEnv,
  ...natsEnv,
  ...redisEnv,
  /** The policy, a YAML file. It is read again when it changes. */
  YARD_POLICY_FILE: z.string(),
  /** The private Ed25519 key that signs run tokens, a JWK. Only this service may read it. */
  YARD_RUN_TOKEN_KEY_FILE: z.string(),
});

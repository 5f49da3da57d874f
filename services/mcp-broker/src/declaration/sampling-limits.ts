import { MAX_COMPLETION_TOKENS } from "@switchyard/contracts/model-completion";
import { z } from "zod";

/** What a server may sample when the policy allows it. */
export const SamplingLimits = z.strictObject({
  /** Tokens of one answer; a request for more is cut. */
  maxTokens: z.int().min(1).max(MAX_COMPLETION_TOKENS).default(1_024),
  perMinute: z.int().min(0).max(600).default(20),
});
export type SamplingLimits = z.output<typeof SamplingLimits>;

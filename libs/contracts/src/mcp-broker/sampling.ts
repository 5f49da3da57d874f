import { z } from "zod";

/**
 * Settings for how a model chooses the words of each answer of a run. The provider decides the effect of a setting: a model that has
 * no such setting ignores it. Ranges are those of https://platform.openai.com/docs/api-reference/chat/create.
 */
export const Sampling = z.strictObject({
  temperature: z.number().min(0).max(2).exactOptional(),
  topP: z.number().min(0).max(1).exactOptional(),
  presencePenalty: z.number().min(-2).max(2).exactOptional(),
  frequencyPenalty: z.number().min(-2).max(2).exactOptional(),
  seed: z.int().exactOptional(),
  /** An answer ends before the first of these texts. */
  stopSequences: z.array(z.string().min(1).max(256)).max(4).exactOptional(),
  /** The most tokens of one answer of the model, reasoning included. */
  maxOutputTokens: z.int().min(1).max(1_000_000).exactOptional(),
});
export type Sampling = z.infer<typeof Sampling>;

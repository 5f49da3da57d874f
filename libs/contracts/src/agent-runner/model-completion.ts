import { z } from "zod";
import { rpc } from "../define.ts";
import { ModelName } from "../ids.ts";
import { storeUnavailable } from "../store-errors.ts";

/** The most tokens of one completion, whatever the request has. */
export const MAX_COMPLETION_TOKENS = 4_096;

const MediaType = z.string().regex(/^[a-z]+\/[a-zA-Z0-9.+-]{1,100}$/);

export const CompletionPart = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("text"), text: z.string().max(1_000_000) }),
  /** `data` is base64. */
  z.strictObject({ type: z.literal("image"), data: z.base64(), mimeType: MediaType }),
  z.strictObject({ type: z.literal("audio"), data: z.base64(), mimeType: MediaType }),
]);
export type CompletionPart = z.infer<typeof CompletionPart>;

/**
 * One model call outside of any run, for an MCP server's sampling request to its client. Only the broker may call it, after the policy
 * allowed it, so no client uses a model without a run.
 */
export const completeModel = rpc({
  subject: "yard.rpc.{caller}.models.complete",
  summary: "Calls the configured model once, without tools, for the MCP broker.",
  request: z.strictObject({
    /** Names or parts of names, in order of preference; without a configured model that fits any, it is the default one. */
    hints: z.array(z.string().max(200)).max(16).default([]),
    system: z.string().max(200_000).nullable(),
    messages: z
      .array(
        z.strictObject({
          role: z.enum(["user", "assistant"]),
          content: z.array(CompletionPart).min(1).max(100),
        }),
      )
      .min(1)
      .max(200),
    maxTokens: z.int().min(1).max(MAX_COMPLETION_TOKENS),
    temperature: z.number().min(0).max(2).nullable(),
    stopSequences: z.array(z.string().min(1).max(200)).max(16).default([]),
  }),
  reply: z.object({
    model: ModelName,
    text: z.string(),
    stopReason: z.enum(["endTurn", "stopSequence", "maxTokens", "other"]),
    usage: z.object({ inputTokens: z.int(), outputTokens: z.int() }),
  }),
  errors: {
    /** No configured model can answer: the default is the scripted one, or its key is missing. */
    no_model: { data: z.object({ reason: z.string() }) },
    model_failed: { data: z.object({ reason: z.string() }) },
    /** The runner's limit of completions in progress is reached. */
    too_many_completions: { data: z.object({ limit: z.int() }), retryable: true },
    /** The provider's remaining rate limit is in Redis, which does not answer. The model was not called. */
    store_unavailable: storeUnavailable,
  },
  timeoutMs: 120_000,
});

import { z } from "zod";
import { rpc } from "./define.ts";
import { ModelName } from "./ids.ts";
import { storeUnavailable } from "./store-errors.ts";

/** Tokens that one completion may have, whatever is asked for. */
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
 * One model call outside of any run, for what an MCP server asks its client to sample. Only the
 * broker may ask it, after the policy allowed it, so no client gets at a model without a run.
 */
export const completeModel = rpc({
  subject: "yard.rpc.{caller}.models.complete",
  summary: "Asks the configured model once, without tools, for the MCP broker.",
  request: z.strictObject({
    /** Names or parts of names, the wished ones first; a configured model that none fits is the default. */
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
    /** As many completions are in work as the runner takes at a time. */
    too_many_completions: { data: z.object({ limit: z.int() }), retryable: true },
    /** What the provider still permits is in Redis. The model was not asked. */
    store_unavailable: storeUnavailable,
  },
  timeoutMs: 120_000,
});

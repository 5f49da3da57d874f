import { z } from "zod";

const Digest16 = z.string().regex(/^[0-9a-f]{16}$/, "must be 16 hexadecimal digits");

/**
 * A request to a model, as digests: a replay can detect if its request is the same, and where it begins to differ, without a second copy of
 * the prompt.
 */
export const RecordedRequest = z.strictObject({
  instructions: Digest16,
  /** The number of messages. */
  messages: z.int().nonnegative(),
  /** The digest of the messages before the previous answer and of that answer itself. */
  earlier: Digest16,
  /** The digest of each message since then. */
  since: z.array(Digest16).max(1_000),
});
export type RecordedRequest = z.infer<typeof RecordedRequest>;

/** A part of an answer, without the parts that only its provider understands. */
const RecordedPart = z.discriminatedUnion("type", [
  z.strictObject({ type: z.enum(["text", "reasoning"]), text: z.string() }),
  z.strictObject({
    type: z.literal("tool-call"),
    toolCallId: z.string().max(256),
    tool: z.string().max(256),
    input: z.unknown(),
  }),
]);
export type RecordedPart = z.infer<typeof RecordedPart>;

const usage = z.strictObject({
  inputTokens: z.int().nonnegative(),
  outputTokens: z.int().nonnegative(),
});

export const RecordedAnswer = z.strictObject({
  request: RecordedRequest,
  content: z.array(RecordedPart).max(1_000),
  finishReason: z.enum(["stop", "length", "content-filter", "tool-calls", "error", "other"]),
  usage,
  servedModel: z.string().max(256),
});
export type RecordedAnswer = z.infer<typeof RecordedAnswer>;

export const RecordedSummary = z.strictObject({
  /** The number of answers that it replaces. */
  upTo: z.int().positive(),
  text: z.string(),
  usage,
});

/** The answers of the models in a run, in order. */
export const Recording = z.strictObject({
  version: z.literal(1),
  answers: z.array(RecordedAnswer).min(1).max(1_000),
  summaries: z.array(RecordedSummary).max(1_000).default([]),
  /** Tokens of the context window that the run used: they determine how much of a long result a model got, and when it got a summary. */
  contextWindow: z.int().positive().optional(),
});
export type Recording = z.infer<typeof Recording>;

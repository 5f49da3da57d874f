import { CallerName, RunId, Timestamp } from "@switchyard/contracts/ids";
import { Answer, AnswerSchema } from "@switchyard/contracts/run-waits";
import { z } from "zod";

/** What a call waits for; `until` is the time from which the run goes on without it. */
export const Wait = z.discriminatedUnion("reason", [
  z.object({
    reason: z.literal("approval"),
    approvalId: z.string(),
    until: Timestamp,
    /** Set when it is for the repeat of a call whose outcome nobody knows. */
    again: z.boolean().optional(),
  }),
  z.object({
    reason: z.literal("question"),
    question: z.string(),
    options: z.array(z.string()),
    schema: AnswerSchema.optional(),
    until: Timestamp,
    /** Set when the question is whether to make a call again whose outcome nobody knows. */
    about: z.literal("outcome").optional(),
  }),
  z.object({ reason: z.literal("child"), childRunId: RunId, until: z.null() }),
  z.object({ reason: z.literal("timer"), until: Timestamp }),
]);
export type Wait = z.infer<typeof Wait>;

/** What ended a wait. `look`: something happened, and the one who was waited for knows what. */
export const Resolution = z.discriminatedUnion("type", [
  z.object({ type: z.literal("answer"), answer: Answer, by: CallerName }),
  z.object({ type: z.literal("look") }),
]);
export type Resolution = z.infer<typeof Resolution>;

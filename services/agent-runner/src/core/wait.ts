import { CallerName, RunId, Timestamp } from "@switchyard/contracts/ids";
import { Answer, AnswerSchema } from "@switchyard/contracts/agent-runner/run-waits";
import { z } from "zod";

/** The reason that a call waits; `until` is the time from which the run continues without it. */
export const Wait = z.discriminatedUnion("reason", [
  z.object({
    reason: z.literal("approval"),
    approvalId: z.string(),
    until: Timestamp,
    /** Set when it is for the repeat of a call whose outcome is unknown. */
    again: z.boolean().optional(),
  }),
  z.object({
    reason: z.literal("question"),
    question: z.string(),
    options: z.array(z.string()),
    schema: AnswerSchema.optional(),
    until: Timestamp,
    /** Set when the question is whether to repeat a call whose outcome is unknown. */
    about: z.literal("outcome").optional(),
  }),
  z.object({ reason: z.literal("child"), childRunId: RunId, until: z.null() }),
  z.object({ reason: z.literal("timer"), until: Timestamp }),
]);
export type Wait = z.infer<typeof Wait>;

/** The event that ended a wait. `look`: something happened, and the service that was waited for has the details. */
export const Resolution = z.discriminatedUnion("type", [
  z.object({ type: z.literal("answer"), answer: Answer, by: CallerName }),
  z.object({ type: z.literal("look") }),
]);
export type Resolution = z.infer<typeof Resolution>;

import { z } from "zod";

/**
 * A plan for the built-in `scripted` provider: a deterministic stand-in for a model that makes no
 * AI claim. It is written in an agent or skill file under `plan`.
 *
 * Wherever a value stands, `{ "$from": "/pointer" }` is replaced by what the JSON pointer (RFC 6901)
 * finds in `{ input, results, last }`: `input` is the run's input, `results` holds the latest result
 * of each call under its `as` name (or the position of the call), `{ text, isError }`, and `last` is
 * the result of the last call of the step before.
 */
export const PlanCall = z.strictObject({
  /** Canonical tool name, or the name of a built-in such as `skill`. */
  tool: z.string().min(1).max(128),
  with: z.record(z.string(), z.unknown()).default({}),
  /** The arguments as the model writes them, in place of `with`: for arguments that are not JSON. */
  raw: z.string().max(8_192).optional(),
  /** Name under which the result is stored. */
  as: z
    .string()
    .regex(/^[A-Za-z][A-Za-z0-9_-]{0,63}$/)
    .optional(),
});
export type PlanCall = z.infer<typeof PlanCall>;

/** Holds when the pointer finds something and each check that is named is true of it. */
export const PlanCondition = z.strictObject({
  at: z.string().startsWith("/", "must be a JSON pointer such as /last/isError").max(256),
  equals: z.union([z.string().max(1_024), z.number(), z.boolean(), z.null()]).optional(),
  /** A text that the value contains; a value that is not text is compared as JSON. */
  contains: z.string().min(1).max(1_024).optional(),
  /** Turns the condition round. */
  not: z.boolean().optional(),
});
export type PlanCondition = z.infer<typeof PlanCondition>;

/** A failure of the provider on purpose, `times` in a row before the step is answered. */
export const PlanFailure = z.strictObject({
  /** 429, 503, 400, a stream that ends in the middle, or an answer that never comes. */
  how: z.enum(["rate-limit", "overloaded", "bad-request", "cut", "silence"]),
  times: z.int().min(1).max(100).default(1),
  /** For `rate-limit`: what `Retry-After` says, in milliseconds. */
  retryAfterMs: z.int().min(0).max(600_000).optional(),
});
export type PlanFailure = z.infer<typeof PlanFailure>;

const Pace = {
  /** Pause before the answer begins, in milliseconds. */
  delayMs: z.int().min(0).max(600_000).optional(),
  /** Pause before each piece of streamed text, in milliseconds. */
  chunkDelayMs: z.int().min(0).max(60_000).optional(),
  /** Characters of a piece of streamed text; 48 when it is left out. */
  chunkChars: z.int().min(1).max(10_000).optional(),
};

export const PlanStep = z
  .strictObject({
    /** The step is passed over unless this holds. */
    when: PlanCondition.optional(),
    /** Text that the model says beside its calls; a template like `answer`. */
    say: z.string().max(8_192).optional(),
    /** Calls of one step run side by side. */
    calls: z.array(PlanCall).max(32).default([]),
    /** Ends the run here, in place of calls. */
    answer: z.string().min(1).max(32_768).optional(),
    /** After its calls have results the step is played again while this holds, `times` in all at most. */
    repeat: z
      .strictObject({ while: PlanCondition, times: z.int().min(2).max(1_000).default(10) })
      .optional(),
    fail: PlanFailure.optional(),
    ...Pace,
  })
  .superRefine((step, context) => {
    if (step.calls.length === 0 && step.answer === undefined) {
      const message = "must name a call, unless the step has an answer";
      context.addIssue({ code: "custom", path: ["calls"], message });
    }
    if (step.answer !== undefined && (step.calls.length > 0 || step.repeat !== undefined)) {
      const message = "ends the run, so the step can have no calls and no repeat";
      context.addIssue({ code: "custom", path: ["answer"], message });
    }
  });
export type PlanStep = z.infer<typeof PlanStep>;

/**
 * `answer` is a template: `{{/results/readme/text}}` inserts what the pointer finds, and
 * `{{/results/readme/text | firstLine}}` passes it through a filter first.
 */
export const Plan = z.strictObject({
  steps: z.array(PlanStep).max(200).default([]),
  answer: z.string().min(1).max(32_768),
  ...Pace,
});
export type Plan = z.infer<typeof Plan>;

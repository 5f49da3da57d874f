import { z } from "zod";

/**
 * A plan for the built-in `scripted` provider: a deterministic stand-in for a model that makes no
 * AI claim. It is written in an agent or skill file under `plan`.
 *
 * Wherever a value stands, `{ "$from": "/pointer" }` is replaced by what the JSON pointer (RFC 6901)
 * finds in `{ input, results }`: `input` is the run's input, `results` holds one entry per finished
 * call under its `as` name (or its position), `{ text, isError }`.
 */
export const PlanCall = z.strictObject({
  /** Canonical tool name, or the name of a built-in such as `skill`. */
  tool: z.string().min(1).max(128),
  with: z.record(z.string(), z.unknown()).default({}),
  /** Name under which the result is kept. */
  as: z
    .string()
    .regex(/^[A-Za-z][A-Za-z0-9_-]{0,63}$/)
    .optional(),
});
export type PlanCall = z.infer<typeof PlanCall>;

export const PlanStep = z.strictObject({
  /** Text that the model says beside its calls; a template like `answer`. */
  say: z.string().max(8_192).optional(),
  /** Calls of one step run side by side. */
  calls: z.array(PlanCall).min(1).max(32),
});
export type PlanStep = z.infer<typeof PlanStep>;

/**
 * `answer` is a template: `{{/results/readme/text}}` inserts what the pointer finds, and
 * `{{/results/readme/text | firstLine}}` passes it through a filter first.
 */
export const Plan = z.strictObject({
  steps: z.array(PlanStep).max(200).default([]),
  answer: z.string().min(1).max(32_768),
});
export type Plan = z.infer<typeof Plan>;

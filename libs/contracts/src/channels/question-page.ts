import { z } from "zod";

/** The answers that the page of a link in a mail has for a question. */
export const QuestionPress = {
  /** The position of the chosen answer. */
  choice: z.int().min(0).max(100).optional(),
  /** The written answer. */
  text: z.string().max(10_000).optional(),
} as const;

/** The labels of a question's answers, and whether a text may be one. */
export const PageQuestion = z.object({ choices: z.array(z.string()), takesText: z.boolean() });

/**
 * The secret of a link in a mail: the id of its message, 128 random bits, a digest of what it decides about, by whom and until when, and the
 * signature of all three.
 */
export const DecisionToken = z
  .string()
  .regex(/^[0-9a-f]{32}(?:\.[\w-]{22}){3}$/, "must be the end of a link as the mail has it");

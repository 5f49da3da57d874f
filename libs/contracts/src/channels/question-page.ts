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

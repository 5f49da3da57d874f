import { z } from "zod";
import type { OfferedTool } from "../core/tool-catalogue.ts";
import type { Wait } from "../core/wait.ts";
import { problemOfQuestion } from "./check-answer.ts";

const HOUR = 3_600_000;
const DEFAULT_WAIT_MS = 24 * HOUR;
const MAX_WAIT_MS = 30 * 24 * HOUR;

/** A question to people; the run waits for the answer without a runner. */
export const askUserTool: OfferedTool = {
  name: "ask_user",
  description:
    "Asks the person that you work for a question and waits for the answer. " +
    "Use it only for what you cannot find out and may not decide yourself.",
  inputSchema: {
    type: "object",
    properties: {
      question: { type: "string", description: "The question, complete in itself" },
      options: {
        type: "array",
        items: { type: "string" },
        description: "Answers to choose from; leave it out when any text will do",
      },
      schema: {
        type: "object",
        description: "JSON Schema of the answer, when it must have a certain form",
      },
      timeout_seconds: { type: "integer", minimum: 1, description: "How long to wait at most" },
    },
    required: ["question"],
    additionalProperties: false,
  },
};

const Input = z.strictObject({
  question: z.string().min(1).max(8_192),
  options: z.array(z.string().min(1).max(512)).max(32).default([]),
  schema: z.record(z.string(), z.unknown()).optional(),
  timeout_seconds: z
    .int()
    .min(1)
    .max(MAX_WAIT_MS / 1_000)
    .optional(),
});

/** Reads the arguments of the tool; a returned text describes an error in them. */
export function readQuestion(args: unknown, now: number): Wait | string {
  const read = Input.safeParse(args);
  if (!read.success)
    return read.error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`).join("; ");
  const { question, options, schema, timeout_seconds: seconds } = read.data;
  const waitMs = seconds === undefined ? DEFAULT_WAIT_MS : seconds * 1_000;
  const wait = {
    reason: "question" as const,
    question,
    options,
    until: new Date(now + waitMs).toISOString(),
  };
  if (schema === undefined) return wait;
  const problem = problemOfQuestion(schema);
  return problem === null ? { ...wait, schema } : `schema: ${problem}`;
}

import { z } from "zod";
import type { RunWait } from "@switchyard/contracts/agent-runner/run-waits";
import {
  problemOfSchema,
  problemsOfAnswer as problemsOfForm,
} from "@switchyard/service/json-schema/answer-schema";
import type { OfferedTool } from "../core/tool-catalogue.ts";
import type { Wait } from "../core/journal-entry.ts";

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

const MAX_SCHEMA_CHARS = 16_384;

/** The reason why answers cannot be checked with a schema; null when they can. */
function problemOfQuestion(schema: Record<string, unknown>): string | null {
  if (JSON.stringify(schema).length > MAX_SCHEMA_CHARS)
    return `is longer than ${MAX_SCHEMA_CHARS} characters`;
  const problem = problemOfSchema(schema);
  return problem === null ? null : `cannot be used: ${problem}`;
}

/** Lists the reasons why an answer does not fit the question; empty when it fits. */
export function problemsOfAnswer(
  { options = [], schema }: Pick<RunWait, "options" | "schema">,
  answer: unknown,
): string[] {
  if (schema !== undefined) return problemsOfForm(schema, answer);
  if (typeof answer !== "string") return ["answer: must be a text"];
  if (options.length === 0 || options.includes(answer)) return [];
  return [`answer: must be one of ${options.join(", ")}`];
}

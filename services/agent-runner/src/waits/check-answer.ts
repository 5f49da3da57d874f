import type { RunWait } from "@switchyard/contracts/agent-runner/run-waits";
import {
  problemOfSchema,
  problemsOfAnswer as problemsOfForm,
} from "@switchyard/service/json-schema/answer-schema";

const MAX_SCHEMA_CHARS = 16_384;

/** The reason why answers cannot be checked with a schema; null when they can. */
export function problemOfQuestion(schema: Record<string, unknown>): string | null {
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

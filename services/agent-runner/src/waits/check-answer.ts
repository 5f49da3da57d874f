import type { RunWait } from "@switchyard/contracts/run-waits";
import { z } from "zod";

const MAX_PROBLEMS = 20;
const MAX_SCHEMA_BYTES = 16_384;

/** A schema that answers can be checked with, or what is wrong with it. */
export function readSchema(schema: Record<string, unknown>): z.ZodType | string {
  const json = JSON.stringify(schema);
  if (json.length > MAX_SCHEMA_BYTES) return `is longer than ${MAX_SCHEMA_BYTES} characters`;
  // A model's pattern is run on a person's text: one that backtracks could stop the runner.
  if (/"(pattern|patternProperties|\$ref)"\s*:/.test(json))
    return "patterns and references are not supported; describe the value by type, enum and required";
  try {
    return z.fromJSONSchema(schema);
  } catch (error) {
    return `is not a JSON Schema that can be used: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** What keeps an answer from being one to the question; empty when it fits. */
export function problemsOfAnswer(
  { options = [], schema }: Pick<RunWait, "options" | "schema">,
  answer: unknown,
): string[] {
  if (schema !== undefined) {
    const check = readSchema(schema);
    if (typeof check === "string") return [`schema: ${check}`];
    const read = check.safeParse(answer);
    if (read.success) return [];
    return read.error.issues
      .slice(0, MAX_PROBLEMS)
      .map(({ path, message }) => `${path.join(".") || "answer"}: ${message}`);
  }
  if (typeof answer !== "string") return ["answer: must be a text"];
  if (options.length === 0 || options.includes(answer)) return [];
  return [`answer: must be one of ${options.join(", ")}`];
}

import type { RunDetail } from "@switchyard/client/operations";
import { limitText } from "./limits.ts";

const WORDS: Readonly<Record<string, string>> = {
  cancelled: "It was cancelled",
  internal: "A fault in Switchyard ended it",
  invalid_answer: "The answer does not have the required form",
  invalid_command: "The command that was to start it is not valid",
  invalid_output_schema: "The required form of the answer is not valid",
  journal_corrupt: "Its journal cannot be read",
  limit_exceeded: "It reached a limit",
  may_not_start: "Its caller may not start this agent",
  model_error: "The model gave no usable answer",
  model_unavailable: "The model could not be reached",
  not_allowed: "It was not permitted",
  output_limit: "The model reached its limit of output before the answer was complete",
  run_id_taken: "Another run has its id",
  session_ended: "Its session was ended",
  timeout: "It took too long",
  too_many_attempts: "Its runners died again and again",
  tool_failed: "Its tool failed",
  unknown_agent: "There is no such agent",
  unknown_file: "A file of its input does not exist",
  unknown_model: "There is no such model",
  unknown_skill: "There is no such skill",
};

/** A failure's headline in words; a code without words of its own is shown with spaces. */
export function failureWords({ code, limit }: NonNullable<RunDetail["failure"]>): string {
  if (limit !== undefined) return `It reached its limit of ${limitText(limit)}`;
  const words = WORDS[code] ?? code.replaceAll("_", " ");
  return `${words.slice(0, 1).toUpperCase()}${words.slice(1)}`;
}

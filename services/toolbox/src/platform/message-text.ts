import { answerIn } from "@switchyard/contracts/agent-runner/split-reasoning";

/**
 * Returns a message for people: the model's reasoning before it is removed, and line breaks written as `
 * ` are line breaks.
 */
export function messageText(text: string): string {
  return answerIn(text.replaceAll(String.raw`\n`, "\n")).trim();
}

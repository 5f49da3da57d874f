import { answerIn } from "@switchyard/contracts/split-reasoning";

/** A message as people are to read it: what a model thought before it is left out, and line breaks that it wrote as `\n` are line breaks. */
export function messageText(text: string): string {
  return answerIn(text.replaceAll(String.raw`\n`, "\n")).trim();
}

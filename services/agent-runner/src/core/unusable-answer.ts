import type { AnswerPart, FinishReason } from "./answer-part.ts";

/** The reason why an answer is unusable; it becomes the code of the failed run. */
export type UnusableCode =
  | "empty_answer"
  | "reasoning_only"
  | "missing_calls"
  | "malformed_call"
  | "content_filter";

export interface UnusableAnswer {
  readonly code: UnusableCode;
  readonly message: string;
  /** The notice that the model gets with the next request. */
  readonly hint: string;
}

/** Describes an answer without text and calls, or one that its provider withheld; null for any other, such as one cut at its length. */
export function unusableAnswer(
  { content, finishReason }: { content: readonly AnswerPart[]; finishReason: FinishReason },
  tools: readonly { readonly name: string }[] = [],
): UnusableAnswer | null {
  if (content.some(({ type }) => type === "tool-call")) return null;
  if (finishReason === "length") return null;
  const code = codeOf(content, finishReason);
  if (code === null) return null;
  return unusableBy(code, tools);
}

/** The same for an answer that could not be read at all. */
export function unusableBy(
  code: UnusableCode,
  tools: readonly { readonly name: string }[],
): UnusableAnswer {
  const names = tools.map(({ name }) => name).join(", ") || "none";
  return { code, message: MESSAGES[code], hint: `${HINTS[code]} ${NEXT} The tools are: ${names}.` };
}

/** True when an answer has text that is more than blanks. */
export function hasText(content: readonly AnswerPart[]): boolean {
  return content.some((part) => part.type === "text" && !isBlank(part));
}

function codeOf(content: readonly AnswerPart[], finishReason: FinishReason): UnusableCode | null {
  if (finishReason === "content-filter") return "content_filter";
  if (finishReason === "error") return "malformed_call";
  if (finishReason === "tool-calls") return "missing_calls";
  if (hasText(content)) return null;
  // Sealed reasoning has no text here.
  return content.some(({ type }) => type === "reasoning") ? "reasoning_only" : "empty_answer";
}

function isBlank({ text }: { readonly text: string }): boolean {
  return text.trim() === "";
}

const MESSAGES: Readonly<Record<UnusableCode, string>> = {
  empty_answer: "the model gave an empty answer",
  reasoning_only: "the model's answer has reasoning and no text",
  missing_calls: "the model announced tool calls and made none",
  malformed_call: "the provider could not read the model's answer, such as a malformed tool call",
  content_filter: "the provider's content filter stopped the answer",
};

const HINTS: Readonly<Record<UnusableCode, string>> = {
  empty_answer: "Your last answer was empty.",
  reasoning_only: "Your last answer had no text.",
  missing_calls: "Your last answer announced a tool call, but named no tool.",
  malformed_call: "Your last answer could not be read.",
  content_filter: "Your last answer was withheld.",
};

const NEXT = "Give the whole answer as text, or call a tool by its name.";

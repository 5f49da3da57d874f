import type { ModelMessage } from "ai";
import type { AnswerPart } from "../journal/journal-entry.ts";
import type { RunState, Turn } from "../journal/replay.ts";

/** The messages for the next model call. Every call of every answer must have its result. */
export function conversationOf(state: RunState): ModelMessage[] {
  return [{ role: "user", content: state.started.prompt }, ...state.turns.flatMap(messagesOf)];
}

function messagesOf(turn: Turn): ModelMessage[] {
  const messages: ModelMessage[] = [
    { role: "assistant", content: turn.content.map(assistantPart) },
  ];
  if (turn.calls.length > 0) {
    messages.push({
      role: "tool",
      content: turn.calls.map(({ part, result }) => ({
        type: "tool-result" as const,
        toolCallId: part.toolCallId,
        toolName: sayableName(part.tool),
        output: {
          type: result?.isError === true ? ("error-text" as const) : ("text" as const),
          value: result?.text ?? "",
        },
      })),
    });
  }
  return messages;
}

type AssistantContent = Extract<ModelMessage, { role: "assistant" }>["content"];
type AssistantPart = Extract<
  Exclude<AssistantContent, string>[number],
  { type: "text" | "reasoning" | "tool-call" }
>;
type ProviderOptions = NonNullable<AssistantPart["providerOptions"]>;

function assistantPart(part: AnswerPart): AssistantPart {
  const provider =
    part.providerOptions === undefined
      ? {}
      : // The journal gives back what the provider sent, which was JSON.
        { providerOptions: part.providerOptions as ProviderOptions };
  if (part.type !== "tool-call") return { type: part.type, text: part.text, ...provider };
  const { toolCallId, tool, input } = part;
  const hasArguments = typeof input === "object" && input !== null && !Array.isArray(input);
  return {
    type: "tool-call",
    toolCallId,
    toolName: sayableName(tool),
    input: hasArguments ? input : {},
    ...provider,
  };
}

/** Providers refuse a history with a tool name of other characters, even one that a model made up. */
function sayableName(tool: string): string {
  return tool.replaceAll(/[^a-zA-Z0-9_-]/g, "_").slice(0, 64) || "unnamed";
}

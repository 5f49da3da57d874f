import type { ModelMessage } from "ai";
import { observationBytes, observationOf } from "./observation.ts";
import { summaryMessage } from "./summary-message.ts";
import type { SaidBefore } from "./started-entry.ts";
import { REMINDER } from "./final-answer.ts";
import { isArguments, type AnswerPart } from "./answer-part.ts";
import type { RunMessage, RunState, Turn } from "./run-state.ts";

/** The messages for the next model call. Every call of every answer must have its result. */
export function conversationOf(state: RunState): ModelMessage[] {
  const { compaction } = state;
  const summary: ModelMessage[] =
    compaction === null ? [] : [{ role: "user", content: summaryMessage(compaction.summary) }];
  const first: ModelMessage = { role: "user", content: sayable(state.started.prompt) };
  const before = (state.started.before ?? []).map(messageBefore);
  return [...before, first, ...summary, ...messagesFrom(state, compaction?.upTo ?? 0)];
}

function messageBefore({ role, text }: SaidBefore): ModelMessage {
  const said = sayable(text);
  if (role === "assistant") return { role, content: said };
  return { role: "user", content: role === "notice" ? `Notice from the runner: ${said}` : said };
}

/** Providers refuse a history with a message in which nothing is said; once there, it would be said again and again. */
const NOTHING = "(nothing)";

function sayable(text: string): string {
  return isBlank(text) ? NOTHING : text;
}

function isBlank(text: string): boolean {
  return text.trim() === "";
}

/** The answers from a turn on, counted from 0, with their results and what came in between. */
export function messagesFrom(
  state: RunState,
  from: number,
  to = state.turns.length,
): ModelMessage[] {
  const { turns, messages, started } = state;
  const { output } = started;
  const said: ModelMessage[] = [];
  let heard = 0;
  for (const [index, turn] of turns.entries()) {
    if (index >= to) return said;
    if (index < from) {
      heard = Math.max(heard, turn.heard);
      continue;
    }
    said.push(
      ...messages.slice(heard, turn.heard).map(saidBetween),
      ...messagesOf(turn, started.contextWindow),
    );
    // A run that goes on after an answer in prose wants it in its form.
    if (output !== undefined && turn.calls.length === 0)
      said.push({ role: "user", content: REMINDER });
    heard = Math.max(heard, turn.heard);
  }
  return [...said, ...messages.slice(heard).map(saidBetween)];
}

/** What came in between two steps stands where the model first heard it. */
function saidBetween({ by, text }: RunMessage): ModelMessage {
  return {
    role: "user",
    content: by === "runner" ? `Notice from the runner: ${text}` : sayable(text),
  };
}

/** Turns and the window of their run never change, and every step says all of them again. */
const messagesByTurn = new WeakMap<Turn, ModelMessage[]>();

function messagesOf(turn: Turn, windowTokens: number | undefined): ModelMessage[] {
  const known = messagesByTurn.get(turn);
  if (known !== undefined) return known;
  const messages = makeMessages(turn, windowTokens);
  messagesByTurn.set(turn, messages);
  return messages;
}

/** The most of each result of an answer that the model is shown, in bytes. */
export function shownBytesOf({ calls }: Turn, windowTokens: number | undefined): number {
  if (windowTokens === undefined) return observationBytes([], windowTokens);
  const sizes = calls.map(({ result }) => Buffer.byteLength(result?.text ?? ""));
  return observationBytes(sizes, windowTokens);
}

function makeMessages(turn: Turn, windowTokens: number | undefined): ModelMessage[] {
  const messages: ModelMessage[] = [{ role: "assistant", content: answerOf(turn) }];
  if (turn.calls.length > 0) {
    const maxBytes = shownBytesOf(turn, windowTokens);
    messages.push({
      role: "tool",
      content: turn.calls.map(({ part, result }) => ({
        type: "tool-result" as const,
        toolCallId: part.toolCallId,
        toolName: sayableName(part.tool),
        output: {
          type: result?.isError === true ? ("error-text" as const) : ("text" as const),
          value: observationOf({
            callId: part.callId,
            tool: part.tool,
            text: result?.text ?? "",
            isOfChild: result?.isOfChild ?? false,
            maxBytes,
          }),
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

/** The answer without texts of blanks alone. */
function answerOf({ content }: Turn): AssistantPart[] {
  const parts = content.filter((part) => part.type !== "text" || !isBlank(part.text));
  const isSaid = parts.some(({ type }) => type !== "reasoning");
  return [
    ...parts.map(assistantPart),
    ...(isSaid ? [] : [{ type: "text" as const, text: NOTHING }]),
  ];
}

function assistantPart(part: AnswerPart): AssistantPart {
  const provider =
    part.providerOptions === undefined
      ? {}
      : // The journal gives back what the provider sent, which was JSON.
        { providerOptions: part.providerOptions as ProviderOptions };
  if (part.type !== "tool-call") return { type: part.type, text: part.text, ...provider };
  const { toolCallId, tool, input } = part;
  return {
    type: "tool-call",
    toolCallId,
    toolName: sayableName(tool),
    input: isArguments(input) ? input : {},
    ...provider,
  };
}

/** Providers refuse a history with a tool name of other characters, even one that a model made up. */
function sayableName(tool: string): string {
  return tool.replaceAll(/[^a-zA-Z0-9_-]/g, "_").slice(0, 64) || "unnamed";
}

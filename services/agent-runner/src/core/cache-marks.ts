import type { ModelMessage, SystemModelMessage } from "ai";

type ProviderOptions = NonNullable<SystemModelMessage["providerOptions"]>;

const EPHEMERAL = { type: "ephemeral" };
/** The mark as Anthropic's API has it, and as OpenRouter passes it on: https://openrouter.ai/docs/features/prompt-caching */
const MARK = {
  anthropic: { cacheControl: EPHEMERAL },
  openaiCompatible: { cache_control: EPHEMERAL },
};

/**
 * Marks the messages up to which the provider is to cache a request. There are at most three, because Anthropic accepts four marks and the system
 * prompt has one: the end of the session's earlier messages, which the session's next run repeats; the end of the request before, which is
 * in the cache; and the end of this one. Anthropic looks for an earlier end only 20 blocks back, so the second mark is needed after an answer with many calls:
 * https://docs.claude.com/en/docs/build-with-claude/prompt-caching
 */
export function withCacheMarks(messages: readonly ModelMessage[], before: number): ModelMessage[] {
  const answer = messages.findLastIndex(({ role }) => role === "assistant");
  const ends = new Set([
    messages.slice(0, before).findLastIndex(isEnd),
    messages.slice(0, Math.max(0, answer)).findLastIndex(isEnd),
    messages.findLastIndex(isEnd),
  ]);
  return messages.map((message, index) => (ends.has(index) ? marked(message) : message));
}

/** Answers are of many kinds of parts, some of which take no mark. */
function isEnd({ role }: ModelMessage): boolean {
  return role !== "assistant";
}

/** The system prompt, which tools come before, as a message with a mark at its end. */
export function markedInstructions(content: string): SystemModelMessage {
  return { role: "system", content, providerOptions: MARK };
}

/** The mark is on the last part: some providers read the marks of a message, and all read the marks of a part. */
function marked(message: ModelMessage): ModelMessage {
  switch (message.role) {
    case "user": {
      const { content } = message;
      const parts =
        typeof content === "string" ? [{ type: "text" as const, text: content }] : content;
      return { ...message, content: withMarkedEnd(parts) };
    }
    case "tool":
      return { ...message, content: withMarkedEnd(message.content) };
    default:
      return message;
  }
}

/** A part of a file has its file among its options. */
function withMarkedEnd<T extends object>(parts: readonly T[]): T[] {
  const last = parts.length - 1;
  return parts.map((part, index) => {
    if (index !== last) return part;
    const known = "providerOptions" in part ? (part.providerOptions as ProviderOptions) : {};
    return { ...part, providerOptions: { ...known, ...MARK } };
  });
}

type Json = Record<string, unknown>;

/**
 * Converts a request body to the form in which OpenRouter accepts cache marks: in a part of a message's content, where the SDK
 * writes them beside the content (https://openrouter.ai/docs/features/prompt-caching). A body without marks is unchanged.
 */
export function withMarksInParts(body: Json): Json {
  const messages: unknown = body["messages"];
  if (!Array.isArray(messages)) return body;
  return { ...body, messages: messages.map(withMarkInPart) };
}

function withMarkInPart(message: Json): Json {
  const { cache_control: mark, content, ...rest } = message;
  if (mark === undefined || typeof content !== "string") return message;
  return { ...rest, content: [{ type: "text", text: content, cache_control: mark }] };
}

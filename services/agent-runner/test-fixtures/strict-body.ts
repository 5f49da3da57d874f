import type { Protocol } from "./model-protocols.ts";

type Message = Readonly<Record<string, unknown>>;

/**
 * Returns why a provider refuses the body of a request; null when it does not. The family is the one of the protocol, and within
 * Chat Completions that of the model's name (`mistral…`, `deepseek…`).
 */
export function refusalOf(
  body: Readonly<Record<string, unknown>>,
  protocol?: Protocol,
): string | null {
  /*
   * Half of a surrogate pair is no JSON for providers. Anthropic answers 400 with "The request body is not valid JSON: no low surrogate in string:
   * line 1 column … (char …)" (invalid_request_error), OpenAI 400 with "We could not parse the JSON body of your request" (both as users report
   * them for lone surrogates).
   */
  if (/[^\\](?:\\\\)*\\ud[89a-f]/.test(JSON.stringify(body)))
    return "The request body is not valid JSON: no low surrogate in string";
  switch (protocol) {
    case "messages":
      return marksRefusal(body) ?? anthropicRefusal(messagesIn(body));
    case "responses":
      return responsesRefusal(body);
    case "chat":
      return chatRefusal(String(body["model"]), messagesIn(body));
    default:
      return null;
  }
}

/**
 * "A maximum of 4 blocks with cache_control may be provided. Found 5." and "cache_control cannot be set for empty text blocks" (Anthropic's guide of
 * prompt caching, and its errors as users report them).
 */
function marksRefusal(body: Readonly<Record<string, unknown>>): string | null {
  const json = JSON.stringify(body);
  const found = json.split('"cache_control":').length - 1;
  if (found > 4) return `A maximum of 4 blocks with cache_control may be provided. Found ${found}.`;
  return json.includes('"text":"","cache_control"')
    ? "cache_control cannot be set for empty text blocks"
    : null;
}

/** "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'" (Anthropic's API reference of `tool_use`). */
function anthropicRefusal(messages: readonly Message[]): string | null {
  const blocks = messages.flatMap(({ content }): Message[] =>
    Array.isArray(content) ? content : [],
  );
  const bad = blocks.find(
    ({ type, id }) => type === "tool_use" && !/^[a-zA-Z0-9_-]+$/.test(String(id)),
  );
  return bad === undefined ? null : "tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'";
}

/** "Invalid 'input[2].call_id': string too long. Expected a string with maximum length 64"; an item that was not stored has no reference. */
function responsesRefusal({ input, store }: Readonly<Record<string, unknown>>): string | null {
  const items = Array.isArray(input) ? (input as Message[]) : []; // the fixture's own protocol
  if (items.some(({ call_id: id = "" }) => String(id).length > 64))
    return "Invalid 'input[].call_id': string too long. Expected a string with maximum length 64";
  const isStored = store !== false;
  return isStored || !items.some(({ type }) => type === "item_reference")
    ? null
    : "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false.";
}

function chatRefusal(model: string, messages: readonly Message[]): string | null {
  const ids = messages.flatMap(({ tool_calls: calls, tool_call_id: id }) => [
    ...(Array.isArray(calls) ? calls.map((call: Message) => String(call["id"])) : []),
    ...(typeof id === "string" ? [id] : []),
  ]);
  // "Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string with maximum length 40" (OpenAI).
  if (ids.some((id) => id.length > 40))
    return "Invalid 'messages[].tool_calls[].id': string too long";
  if (model.startsWith("mistral")) {
    // "Tool call id was … but must be a-z, A-Z, 0-9, with a length of 9." (Mistral, code 3280); its request model forbids unknown fields.
    if (!ids.every((id) => /^[a-zA-Z0-9]{9}$/.test(id)))
      return "Tool call id must be a-z, A-Z, 0-9, with a length of 9.";
    if (messages.some((message) => "reasoning_content" in message))
      return "extra_forbidden: reasoning_content";
  }
  if (model.startsWith("deepseek")) {
    // "Missing `reasoning_content` field in the assistant message at message index 1" (DeepSeek's guide of the thinking mode, tool calls).
    const since = messages.slice(messages.findLastIndex(({ role }) => role === "user") + 1);
    if (
      since.some((message) => message["role"] === "assistant" && !("reasoning_content" in message))
    )
      return "Missing `reasoning_content` field in the assistant message";
  }
  return null;
}

function messagesIn({ messages }: Readonly<Record<string, unknown>>): readonly Message[] {
  return Array.isArray(messages) ? messages : [];
}

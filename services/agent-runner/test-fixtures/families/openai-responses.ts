import { isObject, listIn, openAiError, type Family, type Json, wordsOf } from "./family.ts";
import { keyProblem } from "./openai-chat.ts";

/** Members of a request: https://platform.openai.com/docs/api-reference/responses/create */
const FIELDS: ReadonlySet<string> = wordsOf(
  "model input instructions stream store include tools tool_choice temperature top_p " +
    "max_output_tokens reasoning text truncation user parallel_tool_calls metadata " +
    // `client_metadata`: OpenAI's own Codex sends it (openai/codex, codex-rs/core/src/client.rs).
    "client_metadata prompt_cache_key service_tier top_logprobs previous_response_id max_tool_calls " +
    "safety_identifier background",
);

/**
 * OpenAI's Responses: https://platform.openai.com/docs/api-reference/responses/create
 *
 * - calls and results are paired by `call_id`, of at most 64 characters (https://github.com/continuedev/continue/issues/10092);
 * - with `store: false` an item has no reference, and reasoning needs its encrypted content, made by the provider itself
 *   (https://platform.openai.com/docs/guides/reasoning#encrypted-reasoning-items);
 * - reasoning is followed by the item that it led to (https://github.com/openai/openai-agents-python/issues/1660);
 * - ids of items have the prefix of their type (https://github.com/continuedev/continue/pull/11785);
 * - reasoning models refuse a temperature.
 */
export const openAiResponses: Family = {
  protocol: "responses",
  model: "gpt-5",
  settings: (url) => ({ type: "openai", baseURL: url, apiKeyEnv: "FAMILY_KEY" }),
  refusal({ path, headers, body }) {
    if (path !== "/responses") return openAiError(404, "Invalid URL");
    const why = responsesProblem(body);
    return keyProblem(headers.authorization) ?? (why === null ? null : openAiError(400, why));
  },
  lessons: [],
  callId: (index) => `call_Wq8rT5yU2iO7pA4sD1fG6h${index}`,
  reasons: true,
  sees: true,
  busy: (seconds) =>
    openAiError(
      429,
      `Rate limit reached for gpt-5 on tokens per min (TPM). Please try again in ${seconds}s.`,
      { type: "tokens", code: "rate_limit_exceeded" },
    ),
  quota: openAiError(429, "You exceeded your current quota, please check your plan", {
    type: "insufficient_quota",
    code: "insufficient_quota",
  }),
  tooLong: openAiError(
    400,
    "Your input exceeds the context window of this model. Please adjust your input and try again.",
    { param: "input", code: "context_length_exceeded" },
  ),
};

/** The first rule that a request breaks; null when it breaks none. */
export function responsesProblem(body: Json): string | null {
  const unknown = Object.keys(body).find((name) => !FIELDS.has(name));
  if (unknown !== undefined) return `Unknown parameter: '${unknown}'.`;
  if (String(body["model"]).startsWith("gpt-5") && body["temperature"] !== undefined)
    return "Unsupported parameter: 'temperature' is not supported with this model.";
  const input = listIn(body["input"]);
  const calls = new Set<string>();
  const results = new Set<string>();
  for (const [index, item] of input.entries()) {
    const why = itemProblem(item, { next: input[index + 1], isStored: body["store"] !== false });
    if (why !== null) return `Invalid 'input[${index}]': ${why}`;
    const id = String(item["call_id"]);
    if (item["type"] === "function_call") calls.add(id);
    if (item["type"] !== "function_call_output") continue;
    if (!calls.has(id)) return `No tool call found for function call output with call_id ${id}.`;
    results.add(id);
  }
  const open = [...calls].find((id) => !results.has(id));
  if (open !== undefined) return `No tool output found for function call ${open}.`;
  const bad = listIn(body["tools"]).find(({ name }) => !/^[a-zA-Z0-9_-]{1,64}$/.test(String(name)));
  return bad === undefined ? null : "Invalid 'tools[0].name': string does not match pattern.";
}

function itemProblem(
  item: Json,
  { next, isStored }: { readonly next: Json | undefined; readonly isStored: boolean },
): string | null {
  const { type = "message", id, call_id: callId = "", name } = item;
  switch (type) {
    case "item_reference":
      return isStored
        ? null
        : `Item with id '${String(id)}' not found. Items are not persisted when \`store\` is set to false.`;
    case "reasoning": {
      if (!isStored && item["encrypted_content"] !== "sealed")
        return `The encrypted content for item ${String(id)} could not be verified.`;
      const follows =
        next !== undefined &&
        (next["type"] === "function_call" ||
          next["type"] === "reasoning" ||
          next["role"] === "assistant");
      return follows
        ? null
        : `Item '${String(id)}' of type 'reasoning' was provided without its required following item.`;
    }
    case "function_call":
      if (String(callId).length > 64)
        return "string too long. Expected a string with maximum length 64";
      if (typeof id === "string" && !id.startsWith("fc"))
        return "Expected an ID that begins with 'fc'.";
      return /^[a-zA-Z0-9_-]+$/.test(String(name))
        ? null
        : "string does not match pattern '^[a-zA-Z0-9_-]+$'";
    case "function_call_output":
      return item["output"] === undefined ? "Missing required parameter: 'output'" : null;
    case "message": {
      const { role, content } = item;
      if (!["system", "developer", "user", "assistant"].includes(String(role)))
        return "Invalid value for 'role'";
      if (typeof content === "string" && content !== "") return null;
      const expected =
        role === "assistant" ? /^(output_text|refusal)$/ : /^input_(text|image|file)$/;
      const parts = Array.isArray(content) ? content.filter(isObject) : [];
      return parts.length > 0 && parts.every((part) => expected.test(String(part["type"])))
        ? null
        : "Invalid value for 'content'";
    }
    default:
      return `Invalid value: '${String(type)}'`;
  }
}

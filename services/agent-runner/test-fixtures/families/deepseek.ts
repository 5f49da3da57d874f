import { chatProblem } from "./chat-rules.ts";
import { isObject, listIn, openAiError, type Family } from "./family.ts";
import { keyProblem } from "./openai-chat.ts";

/**
 * DeepSeek in its thinking mode: https://api-docs.deepseek.com/api/create-chat-completion
 *
 * - the reasoning of answers since the last message of a user has to be sent back
 *   (https://api-docs.deepseek.com/guides/thinking_mode#tool-calls, https://github.com/abhigyanpatwari/GitNexus/issues/43);
 * - messages have texts alone: any other part is a 422 of its deserializer;
 * - no balance is a 402, and overload a 503 without a hint (https://api-docs.deepseek.com/quick_start/error_codes);
 * - cached tokens are in `prompt_cache_hit_tokens` (https://api-docs.deepseek.com/guides/kv_cache).
 */
export const deepSeek: Family = {
  protocol: "chat",
  model: "deepseek-reasoner",
  settings: (url) => ({ type: "openai-compatible", baseURL: url, apiKeyEnv: "FAMILY_KEY" }),
  refusal({ path, headers, body }) {
    if (path !== "/chat/completions") return openAiError(404, "Not Found");
    const messages = listIn(body["messages"]);
    const odd = messages.findIndex(({ content }) =>
      listIn(content).some(({ type }) => type !== "text"),
    );
    if (odd !== -1)
      return openAiError(
        422,
        `Failed to deserialize the JSON body into the target type: messages[${odd}]: unknown variant \`image_url\`, expected \`text\` at line 1 column 500`,
      );
    const why = chatProblem(body, { parts: new Set(["text"]) });
    const turn = messages.findLastIndex(({ role }) => role === "user") + 1;
    const silent = messages.findIndex(
      (message, index) =>
        index >= turn && message["role"] === "assistant" && !("reasoning_content" in message),
    );
    if (why === null && silent !== -1)
      return openAiError(
        400,
        `Missing \`reasoning_content\` field in the assistant message at message index ${silent}. For more information, please refer to https://api-docs.deepseek.com/guides/thinking_mode#tool-calls`,
      );
    return keyProblem(headers.authorization) ?? (why === null ? null : openAiError(400, why));
  },
  lessons: [/Missing `reasoning_content`/, /unknown variant `image_url`/],
  callId: (index) => `call_00_xQ7cT2bN9mLkJhGfDsAq${index}`,
  reasons: true,
  sees: false,
  busy: () =>
    openAiError(
      503,
      "Service is too busy. We advise users to temporarily switch to alternative LLM API service providers.",
      { type: "service_unavailable_error", code: "service_unavailable_error" },
    ),
  quota: openAiError(402, "Insufficient Balance", { type: "unknown_error" }),
  tooLong: openAiError(
    400,
    "This model's maximum context length is 8192 tokens. However, you requested 9001 tokens (9001 in the messages, 0 in the completion).",
  ),
  stream: (chunks) =>
    chunks.map((chunk) => {
      const { usage } = chunk;
      if (!isObject(usage)) return chunk;
      const { prompt_tokens_details: details, ...counts } = usage;
      const hit = isObject(details) ? Number(details["cached_tokens"]) : 0;
      const prompt_cache_miss_tokens = Number(counts["prompt_tokens"]) - hit;
      return {
        ...chunk,
        usage: { ...counts, prompt_cache_hit_tokens: hit, prompt_cache_miss_tokens },
      };
    }),
};

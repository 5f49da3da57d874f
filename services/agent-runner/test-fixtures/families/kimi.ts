import { chatProblem, OPENAI_PARTS } from "./chat-rules.ts";
import { isObject, listIn, openAiError, type Family } from "./family.ts";
import { keyProblem } from "./openai-chat.ts";

/**
 * Moonshot's Kimi with thinking: https://platform.kimi.ai/docs/api/chat
 *
 * - ids of calls are `functions.{name}:{n}`
 *   (https://huggingface.co/moonshotai/Kimi-K2-Thinking/blob/main/docs/tool_call_guidance.md);
 * - the reasoning of each answer with calls has to be sent back (https://github.com/QuantumNous/new-api/issues/3121);
 * - a limit states the pause in its text alone, and cached tokens are in `cached_tokens`: https://platform.kimi.ai/docs/api/errors
 */
export const kimi: Family = {
  protocol: "chat",
  model: "kimi-k2.6",
  settings: (url) => ({ type: "openai-compatible", baseURL: url, apiKeyEnv: "FAMILY_KEY" }),
  refusal({ path, headers, body }) {
    if (path !== "/chat/completions") return openAiError(404, "url.not_found");
    const why = chatProblem(body, { parts: OPENAI_PARTS });
    const silent = listIn(body["messages"]).findIndex(
      (message) => listIn(message["tool_calls"]).length > 0 && !("reasoning_content" in message),
    );
    if (why === null && silent !== -1)
      return openAiError(
        400,
        `thinking is enabled but reasoning_content is missing in assistant tool call message at index ${silent}`,
      );
    return keyProblem(headers.authorization) ?? (why === null ? null : openAiError(400, why));
  },
  lessons: [/reasoning_content is missing/],
  callId: (index, name) => `functions.${name}:${index}`,
  reasons: true,
  sees: true,
  busy: (seconds) =>
    openAiError(
      429,
      `Your account org-1 request reached organization max RPM: 3, please try again after ${seconds} seconds`,
      { type: "rate_limit_reached_error" },
    ),
  quota: openAiError(
    429,
    "Your account org-1 is suspended, please check your plan and billing details",
    {
      type: "exceeded_current_quota_error",
    },
  ),
  tooLong: openAiError(400, "Invalid request: Your request exceeded model token limit: 8192"),
  stream: (chunks) =>
    chunks.map((chunk) => {
      const { usage } = chunk;
      if (!isObject(usage)) return chunk;
      const { prompt_tokens_details: details, ...counts } = usage;
      const cached_tokens = isObject(details) ? Number(details["cached_tokens"]) : 0;
      return { ...chunk, usage: { ...counts, cached_tokens } };
    }),
};

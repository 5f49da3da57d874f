import { chatProblem, OPENAI_FIELDS, OPENAI_PARTS } from "./chat-rules.ts";
import { openAiError, type Family, type Json, type Refusal } from "./family.ts";

/**
 * OpenAI's Chat Completions, used as a compatible provider: https://platform.openai.com/docs/api-reference/chat/create
 *
 * - an unknown member of a request is refused; ids of calls have at most 40 characters
 *   (https://community.openai.com/t/error-for-messages-assistant-tool-calls-id-object/626732);
 * - reasoning models refuse `max_tokens` and a temperature (https://github.com/langgenius/dify/issues/9746);
 * - a limit of requests states its reset in headers: https://platform.openai.com/docs/guides/rate-limits
 */
export const openAiChat: Family = {
  protocol: "chat",
  model: "gpt-4.1",
  settings: (url) => ({ type: "openai-compatible", baseURL: url, apiKeyEnv: "FAMILY_KEY" }),
  refusal: ({ path, headers, body }) =>
    path === "/chat/completions"
      ? (keyProblem(headers.authorization) ?? openAiChatRefusal(body))
      : openAiError(404, "Invalid URL"),
  lessons: [],
  callId: (index) => `call_AbCdEf0123456789GhIjKl${index}`,
  reasons: false,
  sees: true,
  busy: (seconds) =>
    openAiError(
      429,
      "Rate limit reached for gpt-4.1 on requests per min (RPM)",
      { type: "requests", code: "rate_limit_exceeded" },
      { "x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": `${seconds}s` },
    ),
  quota: openAiError(429, "You exceeded your current quota, please check your plan", {
    type: "insufficient_quota",
    code: "insufficient_quota",
  }),
  tooLong: openAiError(
    400,
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.",
    { param: "messages", code: "context_length_exceeded" },
  ),
};

export function keyProblem(authorization: string | undefined): Refusal | null {
  if (authorization === "Bearer key") return null;
  return openAiError(401, "You didn't provide an API key.", { code: "invalid_api_key" });
}

/** The rules of OpenAI's models, also in Azure. */
export function openAiChatRefusal(body: Json): Refusal | null {
  const id = /^.{1,40}$/;
  const why = chatProblem(body, { fields: OPENAI_FIELDS, parts: OPENAI_PARTS, id });
  if (why !== null) return openAiError(400, why);
  const { model, max_tokens: limit, temperature } = body;
  if (!/gpt-5|^o\d/.test(String(model))) return null;
  const code = "unsupported_parameter";
  if (limit !== undefined)
    return openAiError(
      400,
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
      { param: "max_tokens", code },
    );
  if (temperature !== undefined && temperature !== 1)
    return openAiError(
      400,
      `Unsupported value: 'temperature' does not support ${JSON.stringify(temperature)} with this model. Only the default (1) value is supported.`,
      { param: "temperature", code: "unsupported_value" },
    );
  return null;
}

import { chatProblem, OPENAI_PARTS } from "./chat-rules.ts";
import { isObject, listIn, type Family, type Json, type Refusal } from "./family.ts";
import { withReasoning } from "./ollama.ts";

/**
 * OpenRouter: https://openrouter.ai/docs/api/reference/overview
 *
 * - comments come before and within a stream (https://openrouter.ai/docs/api/reference/streaming);
 * - an error after the stream has begun is a chunk with `error`, whose reason of the end is `error` (same page);
 * - no credits are a 402, flagged prompts a 403, and limits have their headers in the body (https://openrouter.ai/docs/api/errors);
 * - reasoning is in `reasoning` and, in parts, in `reasoning_details` (https://openrouter.ai/docs/use-cases/reasoning-tokens).
 */
export const openRouter: Family = {
  protocol: "chat",
  model: "z-ai/glm-4.6",
  settings: (url) => ({
    type: "openai-compatible",
    baseURL: `${url}/api/v1`,
    apiKeyEnv: "FAMILY_KEY",
  }),
  refusal({ path, headers, body }) {
    if (path !== "/api/v1/chat/completions") return openRouterError(404, "Not Found");
    if (headers.authorization !== "Bearer key")
      return openRouterError(401, "No auth credentials found");
    const why = chatProblem(body, { parts: OPENAI_PARTS });
    return why === null ? null : openRouterError(400, why);
  },
  lessons: [],
  callId: (index, name) => `tool_${index}_${name}_Kj3hG8sD2fQw9Zx`,
  reasons: true,
  sees: true,
  busy: (seconds) =>
    openRouterError(429, "Rate limit exceeded: free-models-per-min", {
      headers: {
        "X-RateLimit-Limit": "20",
        "X-RateLimit-Remaining": "0",
        "X-RateLimit-Reset": String(Date.now() + seconds * 1_000),
      },
    }),
  quota: openRouterError(
    402,
    "Insufficient credits. Add more using https://openrouter.ai/settings/credits",
  ),
  tooLong: openRouterError(
    400,
    "This endpoint's maximum context length is 8192 tokens. However, you requested about 9001 tokens (9001 of text input). Please reduce the length of either one.",
  ),
  stream: (chunks) => [
    ": OPENROUTER PROCESSING",
    ...chunks.flatMap((chunk) => [withDetails(withReasoning(chunk)), ": OPENROUTER PROCESSING"]),
  ],
};

export function openRouterError(code: number, message: string, metadata?: Json): Refusal {
  return { status: code, body: { error: { code, message, ...(metadata && { metadata }) } } };
}

/** The error of a provider behind OpenRouter, after the stream has begun. */
export const midStreamError: Json = {
  id: "gen-1",
  object: "chat.completion.chunk",
  created: 1,
  model: "z-ai/glm-4.6",
  provider: "z-ai",
  error: { code: 502, message: "Provider disconnected unexpectedly" },
  choices: [
    { index: 0, delta: { content: "" }, finish_reason: "error", native_finish_reason: "error" },
  ],
};

function withDetails(chunk: Json): Json {
  const [choice] = listIn(chunk["choices"]);
  const delta = choice?.["delta"];
  if (!isObject(delta) || !("reasoning" in delta)) return chunk;
  const text = delta["reasoning"];
  const reasoning_details = [{ type: "reasoning.text", text, index: 0, format: "unknown" }];
  return { ...chunk, choices: [{ ...choice, delta: { ...delta, reasoning_details } }] };
}

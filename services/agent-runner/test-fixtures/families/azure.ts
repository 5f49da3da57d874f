import { openAiError, type Family } from "./family.ts";
import { openAiChatRefusal } from "./openai-chat.ts";

const DEPLOYMENT = "/openai/deployments/gpt-4.1";

/**
 * Azure OpenAI: https://learn.microsoft.com/azure/ai-services/openai/reference
 *
 * - the path has the deployment, the query `api-version`, and the header `api-key` the key: 404 and 401 without them;
 * - a stream begins with a chunk without choices that has the results of the content filter for the prompt
 *   (https://learn.microsoft.com/azure/ai-services/openai/concepts/content-streaming);
 * - a filtered prompt is a 400 with the code `content_filter`
 *   (https://learn.microsoft.com/azure/ai-services/openai/concepts/content-filter), and a limit states `retry-after-ms`.
 */
export const azure: Family = {
  protocol: "chat",
  model: "gpt-4.1",
  settings: (url) => ({
    type: "openai-compatible",
    baseURL: url + DEPLOYMENT,
    query: { "api-version": "2024-10-21" },
    keyHeader: "api-key",
    apiKeyEnv: "FAMILY_KEY",
  }),
  refusal({ path, query, headers, body }) {
    if (path !== `${DEPLOYMENT}/chat/completions` || query.get("api-version") === null)
      return { status: 404, body: { error: { code: "404", message: "Resource not found" } } };
    if (headers["api-key"] !== "key") {
      const message = "Access denied due to invalid subscription key or wrong API endpoint.";
      return { status: 401, body: { error: { code: "401", message } } };
    }
    return openAiChatRefusal(body);
  },
  lessons: [],
  callId: (index) => `call_zYxWvUtSrQpOnMlKjIhGfE${index}`,
  reasons: false,
  sees: true,
  busy: (seconds) => ({
    status: 429,
    headers: { "retry-after-ms": String(seconds * 1_000), "retry-after": String(seconds) },
    body: {
      error: {
        code: "429",
        message: `Requests have exceeded call rate limit of your current OpenAI S0 pricing tier. Please retry after ${seconds} seconds.`,
      },
    },
  }),
  quota: openAiError(429, "You exceeded your current quota", { code: "insufficient_quota" }),
  tooLong: openAiError(
    400,
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.",
    { param: "messages", code: "context_length_exceeded" },
  ),
  stream: (chunks) => {
    const content_filter_results = { hate: { filtered: false, severity: "safe" } };
    const prompt_filter_results = [{ prompt_index: 0, content_filter_results }];
    const first = { choices: [], created: 0, id: "", model: "", object: "", prompt_filter_results };
    return [first, ...chunks];
  },
};

/** The refusal of a prompt by the content filter. */
export const filteredPrompt = openAiError(
  400,
  "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
  {
    type: null,
    param: "prompt",
    code: "content_filter",
    status: 400,
    innererror: {
      code: "ResponsibleAIPolicyViolation",
      content_filter_result: { jailbreak: { filtered: true, detected: true } },
    },
  },
);

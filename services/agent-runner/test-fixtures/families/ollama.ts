import { chatProblem } from "./chat-rules.ts";
import { isObject, listIn, openAiError, type Family, type Json } from "./family.ts";

/**
 * Ollama's endpoint for OpenAI's clients: https://github.com/ollama/ollama/blob/main/docs/openai.md
 *
 * - it needs no key, ignores members that it does not know, and cuts a request to its window without an error;
 * - each call comes whole, and all calls of an answer have the index 0 (https://github.com/ollama/ollama/issues/15457);
 * - reasoning is in `reasoning`; messages have texts and images, the latter as data alone;
 * - a full queue is a 503 without a hint: https://github.com/ollama/ollama/blob/main/docs/faq.md
 */
export const ollama: Family = {
  protocol: "chat",
  model: "qwen3",
  settings: (url) => ({ type: "openai-compatible", baseURL: `${url}/v1` }),
  refusal({ path, body }) {
    if (path !== "/v1/chat/completions") return openAiError(404, "404 page not found");
    const images = listIn(body["messages"]).flatMap(({ content }) =>
      listIn(content).flatMap(({ image_url: image }) =>
        isObject(image) ? [String(image["url"])] : [],
      ),
    );
    if (images.some((url) => !url.startsWith("data:image/")))
      return openAiError(400, "invalid image input");
    const why = chatProblem(body, { parts: new Set(["text", "image_url"]) });
    return why === null ? null : openAiError(400, why);
  },
  lessons: [],
  callId: (index) => `call_x7k2m9q${index}`,
  reasons: true,
  sees: true,
  busy: () =>
    openAiError(503, "server busy, please try again.  maximum pending requests exceeded", {
      type: "api_error",
    }),
  quota: null,
  tooLong: null,
  stream: (chunks, { calls = [] }) =>
    chunks
      .filter((chunk) => callsIn(chunk) === null)
      .flatMap((chunk) => {
        const ends = listIn(chunk["choices"]).some(
          (choice) => typeof choice["finish_reason"] === "string",
        );
        return ends ? calls.map(wholeCall).concat(chunk) : [withReasoning(chunk)];
      }),
};

function wholeCall({ id, name, args }: { id: string; name: string; args: string }): Json {
  const call = { id, index: 0, type: "function", function: { name, arguments: args } };
  const delta = { role: "assistant", content: "", tool_calls: [call] };
  return {
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    created: 1,
    model: "qwen3",
    choices: [{ index: 0, delta, finish_reason: null }],
  };
}

function callsIn(chunk: Json): unknown {
  const delta = listIn(chunk["choices"])[0]?.["delta"];
  return isObject(delta) ? (delta["tool_calls"] ?? null) : null;
}

/** The field of reasoning in Ollama, OpenRouter and newer versions of vLLM. */
export function withReasoning(chunk: Json): Json {
  const [choice] = listIn(chunk["choices"]);
  const delta = choice?.["delta"];
  if (!isObject(delta) || !("reasoning_content" in delta)) return chunk;
  const { reasoning_content: reasoning, ...rest } = delta;
  return { ...chunk, choices: [{ ...choice, delta: { ...rest, reasoning } }] };
}

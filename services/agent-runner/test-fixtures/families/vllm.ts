import { chatProblem, OPENAI_PARTS } from "./chat-rules.ts";
import { isObject, listIn, type Family, type Json, type Refusal } from "./family.ts";
import { withReasoning } from "./ollama.ts";

/**
 * A server of vLLM: https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html
 *
 * - tools need the server's option of a parser (https://github.com/vllm-project/vllm/pull/30613); the model `no-parser` is served without it;
 * - the chat template of the model `alternating` raises for two messages of users in a row, as those of Mistral's models do
 *   (https://github.com/charmbracelet/crush/issues/279);
 * - its parsers repeat members that other providers send once: each piece of a call has an id of null, and a content of null;
 * - errors have a numeric code: https://github.com/vllm-project/vllm/blob/main/vllm/entrypoints/openai/protocol.py
 */
export const vllm: Family = {
  protocol: "chat",
  model: "Qwen/Qwen3-32B",
  settings: (url) => ({ type: "openai-compatible", baseURL: `${url}/v1` }),
  refusal({ path, body }) {
    if (path !== "/v1/chat/completions") return { status: 404, body: { detail: "Not Found" } };
    const { model } = body;
    if (model === "no-parser" && listIn(body["tools"]).length > 0)
      return vllmError(
        400,
        '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
      );
    const roles = listIn(body["messages"]).map(({ role }) => role);
    const isInARow = roles.some(
      (role, index) => role === "user" && ["user", "tool"].includes(String(roles[index - 1])),
    );
    if (model === "alternating" && isInARow)
      return vllmError(
        400,
        "After the optional system message, conversation roles must alternate user/assistant/user/assistant/...",
      );
    const why = chatProblem(body, { parts: OPENAI_PARTS });
    return why === null ? null : vllmError(400, why);
  },
  lessons: [/roles must alternate/],
  callId: (index) => `chatcmpl-tool-9f8e7d6c5b4a39281706f5e4d3c2b1a${index}`,
  reasons: true,
  sees: true,
  busy: () => vllmError(503, "The model is overloaded"),
  quota: null,
  tooLong: vllmError(
    400,
    "This model's maximum context length is 8192 tokens. However, you requested 9001 tokens in the messages, Please reduce the length of the messages.",
  ),
  stream: (chunks) => chunks.map((chunk) => withNulls(withReasoning(chunk))),
};

function vllmError(code: number, message: string): Refusal {
  const type = code === 400 ? "BadRequestError" : "ServiceUnavailableError";
  return { status: code, body: { error: { message, type, param: null, code } } };
}

function withNulls(chunk: Json): Json {
  const [choice] = listIn(chunk["choices"]);
  const delta = choice?.["delta"];
  if (!isObject(delta)) return chunk;
  const usual = { id: null, type: "function" };
  const calls = listIn(delta["tool_calls"]).map((call) => Object.assign({}, usual, call));
  const more = calls.length === 0 ? {} : { content: null, tool_calls: calls };
  return { ...chunk, choices: [{ ...choice, delta: { ...delta, ...more }, logprobs: null }] };
}

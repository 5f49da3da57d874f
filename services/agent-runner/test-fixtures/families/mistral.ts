import { chatProblem } from "./chat-rules.ts";
import { isObject, listIn, type Family, type Json, type Refusal, wordsOf } from "./family.ts";
import { keyProblem } from "./openai-chat.ts";

/** Members of a request: https://docs.mistral.ai/api/#tag/chat/operation/chat_completion_v1_chat_completions_post */
const FIELDS: ReadonlySet<string> = wordsOf(
  "model messages stream temperature top_p max_tokens stop random_seed response_format tools " +
    "tool_choice presence_penalty frequency_penalty n prediction parallel_tool_calls " +
    "prompt_mode safe_prompt metadata reasoning_effort",
);

/**
 * Mistral's La Plateforme: https://docs.mistral.ai/api
 *
 * - an unknown member is a 422 `extra_forbidden`, in requests (`stream_options`: https://github.com/openai/openai-agents-python/issues/442) and in
 *   messages (`reasoning_content`: https://github.com/charmbracelet/crush/issues/1590);
 * - ids of calls have nine letters and digits (https://github.com/anomalyco/opencode/issues/1680);
 * - no user follows a tool (https://github.com/zed-industries/zed/issues/37021), calls and results are as many
 *   (https://github.com/mistralai/client-ts/issues/106), and the last message is of a user or tool (https://portkey.ai/error-library/response-role-error-10573);
 * - reasoning comes as parts of the content: https://docs.mistral.ai/capabilities/reasoning
 */
export const mistral: Family = {
  protocol: "chat",
  model: "mistral-large-latest",
  settings: (url) => ({ type: "openai-compatible", baseURL: url, apiKeyEnv: "FAMILY_KEY" }),
  refusal: ({ path, headers, body }) =>
    path === "/chat/completions"
      ? (keyProblem(headers.authorization) ?? forbidden(body) ?? orderProblem(body))
      : { status: 404, body: { detail: "Not Found" } },
  lessons: [/stream_options/, /reasoning_content/, /Unexpected role 'user' after role 'tool'/],
  callId: (index) => `AbC4eFgH${index}`,
  reasons: true,
  sees: true,
  busy: () => mistralError(429, "Service tier capacity exceeded for this model.", "3505"),
  quota: { status: 402, body: { detail: "Payment required" } },
  tooLong: mistralError(
    400,
    "Prompt contains 9001 tokens and 0 draft tokens, too large for model with 8192 maximum context length",
    "3051",
  ),
  stream: (chunks, { reasoning }) =>
    reasoning === undefined ? chunks : chunks.map((chunk) => withThinkingPart(chunk)),
};

function mistralError(status: number, message: unknown, code: string | null = null): Refusal {
  const type = "invalid_request_error";
  return { status, body: { object: "error", message, type, param: null, code } };
}

function forbidden(body: Json): Refusal | null {
  const loc =
    Object.keys(body)
      .filter((name) => !FIELDS.has(name))
      .map((name) => ["body", name])[0] ??
    listIn(body["messages"]).flatMap((message, index) =>
      "reasoning_content" in message
        ? [["body", "messages", index, "assistant", "reasoning_content"]]
        : [],
    )[0];
  if (loc === undefined) return null;
  const detail = [{ type: "extra_forbidden", loc, msg: "Extra inputs are not permitted" }];
  return mistralError(422, { detail });
}

function orderProblem(body: Json): Refusal | null {
  const parts = new Set(["text", "image_url", "document_url", "input_audio", "thinking", "file"]);
  const messages = listIn(body["messages"]);
  for (const [index, { role }] of messages.entries()) {
    const before = messages[index - 1]?.["role"];
    if ((before === "tool" && role === "user") || (before === "user" && role === "tool"))
      return mistralError(400, `Unexpected role '${role}' after role '${before}'`, "3230");
  }
  const last = String(messages.at(-1)?.["role"]);
  if (last !== "user" && last !== "tool")
    return mistralError(
      400,
      `Expected last role User or Tool (or Assistant with prefix True) for serving but got ${last}`,
    );
  const ids = messages.flatMap(({ tool_calls: calls }) =>
    listIn(calls).map(({ id }) => String(id)),
  );
  const bad = ids.find((id) => !/^[a-zA-Z0-9]{9}$/.test(id));
  if (bad !== undefined)
    return mistralError(
      400,
      `Tool call id was ${bad} but must be a-z, A-Z, 0-9, with a length of 9.`,
      "3280",
    );
  if (ids.length !== messages.filter(({ role }) => role === "tool").length)
    return mistralError(400, "Not the same number of function calls and responses", "3230");
  const why = chatProblem(body, { parts });
  return why === null ? null : mistralError(400, why);
}

function withThinkingPart(chunk: Json): Json {
  const [choice] = listIn(chunk["choices"]);
  const delta = choice?.["delta"];
  if (!isObject(delta) || !("reasoning_content" in delta)) return chunk;
  const thinking = [{ type: "text", text: delta["reasoning_content"] }];
  const content = [{ type: "thinking", thinking }];
  return { ...chunk, choices: [{ ...choice, delta: { role: "assistant", content } }] };
}

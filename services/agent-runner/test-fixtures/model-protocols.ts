import type { ScriptedAnswer } from "./scripted-answer.ts";

/** The streaming protocols of model providers. */
export type Protocol = "chat" | "responses" | "messages" | "gemini";

type Chunk = Record<string, unknown>;

/** The signature of Anthropic's thinking. */
export const SIGNATURE = "EqQBCgIYAhIM";
const INPUT_TOKENS = 100;
const OUTPUT_TOKENS = 20;

/** Returns the chunks of a stream with the answer. */
export function chunksOf(protocol: Protocol, answer: ScriptedAnswer): Chunk[] {
  switch (protocol) {
    case "chat":
      return chatChunks(answer);
    case "responses":
      return responsesChunks(answer);
    case "messages":
      return messagesChunks(answer);
    case "gemini":
      return geminiChunks(answer);
    default:
      return protocol satisfies never;
  }
}

/** The error that a provider sends in mid-answer when it fails, in the usual words of its protocol. */
export function errorChunk(protocol: Protocol, message: string): Chunk {
  switch (protocol) {
    case "chat":
      return { error: { message, type: "server_error", param: null, code: null } };
    case "responses":
      return { type: "error", sequence_number: 9, code: "server_error", message, param: null };
    case "messages":
      return { type: "error", error: { type: "overloaded_error", message } };
    case "gemini":
      return { error: { code: 503, message, status: "UNAVAILABLE" } };
    default:
      return protocol satisfies never;
  }
}

function chatChunks({
  text = [],
  calls = [],
  cached = 0,
  reasoning,
  finish,
}: ScriptedAnswer): Chunk[] {
  const base = { id: "c1", object: "chat.completion.chunk", created: 1, model: "served" };
  const delta = (said: Chunk, finish_reason: string | null = null): Chunk => ({
    ...base,
    choices: [{ index: 0, delta: said, finish_reason }],
  });
  return [
    ...(reasoning === undefined ? [] : [delta({ reasoning_content: reasoning })]),
    ...text.map((content) => delta({ role: "assistant", content })),
    ...calls.flatMap(({ id, name, args }, index) => [
      delta({
        tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }],
      }),
      ...halves(args).map((piece) =>
        delta({ tool_calls: [{ index, function: { arguments: piece } }] }),
      ),
    ]),
    delta({}, finish ?? (calls.length > 0 ? "tool_calls" : "stop")),
    {
      ...base,
      choices: [],
      usage: {
        prompt_tokens: INPUT_TOKENS,
        completion_tokens: OUTPUT_TOKENS,
        total_tokens: INPUT_TOKENS + OUTPUT_TOKENS,
        prompt_tokens_details: { cached_tokens: cached },
      },
    },
  ];
}

function responsesChunks({
  text = [],
  calls = [],
  cached = 0,
  reasoning,
}: ScriptedAnswer): Chunk[] {
  const response = { id: "resp_1", created_at: 1, model: "served" };
  const message = { type: "message", id: "msg_1", role: "assistant", content: [] };
  const whole = {
    ...message,
    content: [{ type: "output_text", text: text.join(""), annotations: [] }],
  };
  const said: Chunk[] =
    text.length === 0
      ? []
      : [
          { type: "response.output_item.added", output_index: 0, item: message },
          ...text.map((delta) => ({
            type: "response.output_text.delta",
            item_id: "msg_1",
            output_index: 0,
            content_index: 0,
            delta,
          })),
          { type: "response.output_item.done", output_index: 0, item: whole },
        ];
  const called = calls.flatMap(({ id, name, args, ...space }, index): Chunk[] => {
    const output_index = index + 1;
    const item = { type: "function_call", id: `fc_${index}`, call_id: id, name, ...space };
    return [
      { type: "response.output_item.added", output_index, item: { ...item, arguments: "" } },
      ...halves(args).map((delta) => ({
        type: "response.function_call_arguments.delta",
        item_id: item.id,
        output_index,
        delta,
      })),
      {
        type: "response.output_item.done",
        output_index,
        item: { ...item, arguments: args, status: "completed" },
      },
    ];
  });
  const usage = {
    input_tokens: INPUT_TOKENS,
    input_tokens_details: { cached_tokens: cached },
    output_tokens: OUTPUT_TOKENS,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: INPUT_TOKENS + OUTPUT_TOKENS,
  };
  return [
    { type: "response.created", response },
    ...(reasoning === undefined ? [] : reasoningItem(reasoning)),
    ...said,
    ...called,
    { type: "response.completed", response: { ...response, incomplete_details: null, usage } },
  ];
}

/** A reasoning item whose content is encrypted, as a request with `store: false` gets it. */
function reasoningItem(text: string): Chunk[] {
  const item = { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text }] };
  return ["added", "done"].map((kind) => ({
    type: `response.output_item.${kind}`,
    output_index: 0,
    item: { ...item, encrypted_content: "sealed" },
  }));
}

function messagesChunks({
  text = [],
  calls = [],
  cached = 0,
  reasoning,
  finish,
}: ScriptedAnswer): Chunk[] {
  const usage = {
    input_tokens: INPUT_TOKENS - cached,
    cache_read_input_tokens: cached,
    cache_creation_input_tokens: 0,
    output_tokens: 1,
  };
  const start = { id: "msg_1", type: "message", role: "assistant", model: "served", content: [] };
  const blocks: { block: Chunk; deltas: Chunk[] }[] = [
    ...(reasoning === undefined
      ? []
      : [
          {
            block: { type: "thinking", thinking: "", signature: "" },
            deltas: [
              { type: "thinking_delta", thinking: reasoning },
              { type: "signature_delta", signature: SIGNATURE },
            ],
          },
        ]),
    ...(text.length === 0
      ? []
      : [
          {
            block: { type: "text", text: "" },
            deltas: text.map((piece) => ({ type: "text_delta", text: piece })),
          },
        ]),
    ...calls.map(({ id, name, args }) => ({
      block: { type: "tool_use", id, name, input: {} },
      deltas: halves(args).map((piece) => ({ type: "input_json_delta", partial_json: piece })),
    })),
  ];
  return [
    {
      type: "message_start",
      message: { ...start, stop_reason: null, stop_sequence: null, usage },
    },
    ...blocks.flatMap(({ block, deltas }, index) => blockChunks(index, block, deltas)),
    {
      type: "message_delta",
      delta: {
        stop_reason: finish ?? (calls.length > 0 ? "tool_use" : "end_turn"),
        stop_sequence: null,
      },
      usage: { output_tokens: OUTPUT_TOKENS },
    },
    { type: "message_stop" },
  ];
}

function blockChunks(index: number, block: Chunk, deltas: readonly Chunk[]): Chunk[] {
  const pieces = deltas.map((delta) => ({ type: "content_block_delta", index, delta }));
  const start = { type: "content_block_start", index, content_block: block };
  return [start, ...pieces, { type: "content_block_stop", index }];
}

function geminiChunks({
  text = [],
  calls = [],
  cached = 0,
  finish = "STOP",
}: ScriptedAnswer): Chunk[] {
  const chunk = (parts: Chunk[], more: Chunk = {}): Chunk => ({
    candidates: [{ index: 0, content: { role: "model", parts }, ...more }],
    modelVersion: "served",
  });
  return [
    ...text.map((piece) => chunk([{ text: piece }])),
    // Gemini's calls carry their arguments as a value, all calls in one chunk.
    ...(calls.length === 0
      ? []
      : [
          chunk(
            calls.map(({ name, args }) => ({ functionCall: { name, args: JSON.parse(args) } })),
          ),
        ]),
    {
      ...chunk([{ text: "" }], { finishReason: finish }),
      usageMetadata: {
        promptTokenCount: INPUT_TOKENS,
        candidatesTokenCount: OUTPUT_TOKENS,
        totalTokenCount: INPUT_TOKENS + OUTPUT_TOKENS,
        cachedContentTokenCount: cached,
      },
    },
  ];
}

/** Arguments come in pieces that are not JSON by themselves. */
function halves(text: string): string[] {
  const half = Math.floor(text.length / 2);
  return [text.slice(0, half), text.slice(half)].filter((piece) => piece !== "");
}

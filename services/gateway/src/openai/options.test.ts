import assert from "node:assert/strict";
import { test } from "node:test";
import type { ChatCompletionCreateParamsStreaming } from "openai/resources/chat/completions";
import type { ResponseCreateParamsStreaming } from "openai/resources/responses/responses";
import { Problem } from "../problems/problem.ts";
import { ChatRequest } from "./chat-completions.ts";
import { readOptions } from "./options.ts";
import { readResponses, ResponsesRequest, settingsOf } from "./responses-request.ts";

// The types of the official client list every option: a new one has to be honoured or refused, too.
type Known<Params, Shape> =
  Exclude<keyof Params, keyof Shape> extends never ? true : Exclude<keyof Params, keyof Shape>;
const areKnown: readonly [
  Known<ChatCompletionCreateParamsStreaming, typeof ChatRequest.shape>,
  Known<ResponseCreateParamsStreaming, typeof ResponsesRequest.shape>,
] = [true, true];

const bodyOf = (value: unknown) => ({ bytes: new Uint8Array(), value, isLarge: false });
const chat = (more: object) =>
  readOptions(
    ChatRequest,
    bodyOf({ model: "helper", messages: [{ role: "user", content: "hello" }], ...more }),
  );
const responses = (more: object) =>
  readResponses(bodyOf({ model: "helper", input: "hello", ...more }));

function refusalOf(read: () => unknown): { param: unknown; status: number; code: string } {
  try {
    read();
  } catch (error) {
    assert.ok(error instanceof Problem, String(error));
    const { param } = error.data as { param: unknown }; // errors of these endpoints name an option
    assert.ok(error.message.length > 10);
    return { param, status: error.status, code: error.code };
  }
  return assert.fail("the option was accepted");
}

test("options that agents cannot honour are refused by their names, and so are unknown ones", () => {
  assert.deepEqual(areKnown, [true, true]);
  for (const [option, value] of [
    ["n", 2],
    ["logprobs", true],
    ["top_logprobs", 3],
    ["logit_bias", { 50256: -100 }],
    ["store", true],
    ["service_tier", "flex"],
    ["parallel_tool_calls", false],
    ["tools", [{ type: "function", function: { name: "f" } }]],
    ["tool_choice", "required"],
    ["functions", [{ name: "f" }]],
    ["function_call", { name: "f" }],
    ["audio", { voice: "alloy", format: "wav" }],
    ["prediction", { type: "content", content: "x" }],
    ["web_search_options", { search_context_size: "low" }],
    ["verbosity", "low"],
    ["temperature", 3],
    ["top_p", "high"],
    ["max_tokens", 0],
    ["seed", 1.5],
    ["reasoning_effort", "enormous"],
    ["user", "u".repeat(257)],
  ] as const) {
    const { param, status } = refusalOf(() => chat({ [option]: value }));
    assert.deepEqual([param, status], [option, 400]);
  }
  for (const [option, value] of [
    ["truncation", "most"],
    ["top_logprobs", 1],
    ["prompt", { id: "pmpt_1" }],
    ["service_tier", "priority"],
    ["parallel_tool_calls", false],
    ["max_output_tokens", -1],
    ["tools", [{ type: "web_search" }]],
  ] as const) {
    const { param, status } = refusalOf(() => responses({ [option]: value }));
    assert.deepEqual([param, status], [option, 400]);
  }
  const unstored = refusalOf(() => responses({ store: false, background: true }));
  assert.deepEqual([unstored.param, unstored.status], ["store", 400]);
  for (const [read, param] of [
    [() => chat({ modalities: ["text", "audio"] }), "modalities.1"],
    [
      () => chat({ stream_options: { include_obfuscation: true } }),
      "stream_options.include_obfuscation",
    ],
    [() => chat({ metadata: { topic: { deep: 1 } } }), "metadata.topic"],
    [() => chat({ stop: ["a", "b", "c", "d", "e"] }), "stop"],
    [() => responses({ reasoning: { summary: "auto" } }), "reasoning.summary"],
    [() => responses({ text: { verbosity: "high" } }), "text.verbosity"],
    [() => responses({ include: ["message.output_text.logprobs"] }), "include.0"],
    [() => responses({ previous_response_id: "resp_a", conversation: "c" }), "conversation"],
  ] as const)
    assert.equal(refusalOf(read).param, param);
  for (const read of [() => chat({ top_k: 5 }), () => responses({ top_k: 5 })])
    assert.deepEqual(refusalOf(read), { param: "top_k", status: 400, code: "unknown_parameter" });
});

test("options that state an agent's own behaviour, and empty ones, are accepted", () => {
  for (const option of Object.keys(ChatRequest.shape))
    if (option !== "model" && option !== "messages") chat({ [option]: null });
  for (const option of Object.keys(ResponsesRequest.shape))
    if (option !== "model" && option !== "input") responses({ [option]: null });
  const always = { logit_bias: {}, tools: [], tool_choice: "auto", parallel_tool_calls: true };
  chat({ ...always, n: 1, logprobs: false, store: false, modalities: ["text"], stop: [] });
  chat({ service_tier: "auto", stream_options: { include_usage: true }, verbosity: "medium" });
  // The defaults of LlamaIndex' OpenAIResponses.
  responses({ store: false, truncation: "disabled" });
  responses({
    store: true,
    truncation: "auto",
    include: ["reasoning.encrypted_content"],
    tools: [],
  });
});

test("settings of a response become those of its run", () => {
  const request = { temperature: 0, top_p: 0.5, max_output_tokens: 9, max_tool_calls: 0 };
  assert.deepEqual(settingsOf(responses({ ...request, reasoning: { effort: "low" } })), {
    sampling: { temperature: 0, topP: 0.5, maxOutputTokens: 9 },
    thinking: "low",
    limits: { maxToolCalls: 0 },
  });
});

import {
  APICallError,
  type LanguageModelV4Prompt,
  type LanguageModelV4StreamPart,
} from "@ai-sdk/provider";
import { Plan } from "@switchyard/contracts/agent-runner/plan";
import assert from "node:assert/strict";
import { test } from "node:test";
import { createScriptedModel } from "./scripted-model.ts";

const plan = Plan.parse({
  steps: [
    {
      say: "Reading {{/input}}.",
      calls: [{ tool: "read", with: { path: { $from: "/input" } }, as: "file" }, { tool: "list" }],
    },
    { calls: [{ tool: "count", with: { text: { $from: "/results/file/text" } } }] },
  ],
  answer: "{{/results/file/text}} {{/results/1/text}} {{/results/2/text}} {{/results/2/isError}}",
});
const model = createScriptedModel(plan, "a.txt");

const user: LanguageModelV4Prompt[number] = {
  role: "user",
  content: [{ type: "text", text: "a.txt" }],
};
const firstTurn: LanguageModelV4Prompt = [
  user,
  {
    role: "assistant",
    content: [
      { type: "text", text: "Reading a.txt." },
      { type: "tool-call", toolCallId: "c1", toolName: "read", input: {} },
      { type: "tool-call", toolCallId: "c2", toolName: "list", input: {} },
    ],
  },
  {
    role: "tool",
    content: [
      {
        type: "tool-result",
        toolCallId: "c2",
        toolName: "list",
        output: { type: "text", value: "L" },
      },
      {
        type: "tool-result",
        toolCallId: "c1",
        toolName: "read",
        output: { type: "text", value: "F" },
      },
    ],
  },
];
const secondTurn: LanguageModelV4Prompt = [
  ...firstTurn,
  {
    role: "assistant",
    content: [{ type: "tool-call", toolCallId: "c3", toolName: "count", input: {} }],
  },
  {
    role: "tool",
    content: [
      {
        type: "tool-result",
        toolCallId: "c3",
        toolName: "count",
        output: { type: "error-text", value: "E" },
      },
    ],
  },
];

test("plays the step at the prompt's position", async () => {
  const first = await model.doGenerate({ prompt: [user] });
  assert.deepEqual(first.content, [
    { type: "text", text: "Reading a.txt." },
    { type: "tool-call", toolCallId: "plan-1-1", toolName: "read", input: '{"path":"a.txt"}' },
    { type: "tool-call", toolCallId: "plan-1-2", toolName: "list", input: "{}" },
  ]);
  assert.equal(first.finishReason.unified, "tool-calls");

  const second = await model.doGenerate({ prompt: firstTurn });
  assert.deepEqual(second.content, [
    { type: "tool-call", toolCallId: "plan-2-1", toolName: "count", input: '{"text":"F"}' },
  ]);
});

test("answers after the last step, with results by name or by position", async () => {
  const { content, finishReason } = await model.doGenerate({ prompt: secondTurn });
  assert.deepEqual(content, [{ type: "text", text: "F L E true" }]);
  assert.equal(finishReason.unified, "stop");
});

test("streams the same answer in pieces and counts characters / 4 as tokens", async () => {
  const { stream } = await model.doStream({ prompt: secondTurn });
  const parts: LanguageModelV4StreamPart[] = [];
  for await (const part of stream) parts.push(part);
  const text = parts.map((part) => (part.type === "text-delta" ? part.delta : "")).join("");
  assert.equal(text, "F L E true");
  const finish = parts.at(-1);
  assert.equal(finish?.type, "finish");
  assert.equal(finish?.type === "finish" && finish.usage.outputTokens.total, 3);
});

test("rejects with the step and the pointer when the plan refers to a missing value", async () => {
  const broken = createScriptedModel(
    Plan.parse({
      steps: [{ calls: [{ tool: "read", with: { path: { $from: "/input/path" } } }] }],
      answer: "x",
    }),
    "just text",
  );
  await assert.rejects(async () => broken.doStream({ prompt: [user] }), {
    name: "TemplateError",
    message: /^plan step 1, call 1: pointer \/input\/path finds nothing at "path"/,
  });
});

test("stops streaming when the call is aborted", async () => {
  const controller = new AbortController();
  const { stream } = await model.doStream({ prompt: secondTurn, abortSignal: controller.signal });
  controller.abort(new Error("enough"));
  await assert.rejects(
    async () => {
      for await (const part of stream) assert.ok(part);
    },
    { message: "enough" },
  );
});

const parts = async (stream: ReadableStream<LanguageModelV4StreamPart>) => {
  const found: LanguageModelV4StreamPart[] = [];
  for await (const part of stream) found.push(part);
  return found;
};

test("fails on purpose as often as the plan states, then answers", async () => {
  const script = createScriptedModel(
    Plan.parse({
      steps: [{ fail: { how: "rate-limit", times: 2, retryAfterMs: 7 }, calls: [{ tool: "t" }] }],
      answer: "x",
    }),
    "",
  );
  for (const _ of [1, 2]) {
    await assert.rejects(
      async () => script.doStream({ prompt: [user] }),
      (error) => {
        assert.ok(APICallError.isInstance(error));
        assert.equal(error.statusCode, 429);
        assert.equal(error.isRetryable, true);
        assert.deepEqual(error.responseHeaders, { "retry-after-ms": "7" });
        return true;
      },
    );
  }
  const answered = await parts((await script.doStream({ prompt: [user] })).stream);
  assert.ok(answered.some((part) => part.type === "tool-call" && part.toolName === "t"));
});

test("breaks an answer off in the middle, and falls silent until the runner gives it up", async () => {
  const script = createScriptedModel(
    Plan.parse({
      steps: [
        { fail: { how: "cut" }, say: "one two", chunkChars: 4, calls: [{ tool: "t" }] },
        { fail: { how: "silence" }, answer: "late" },
      ],
      answer: "x",
    }),
    "",
  );
  const cut = await parts((await script.doStream({ prompt: [user] })).stream);
  assert.deepEqual(
    cut.map(({ type }) => type),
    ["stream-start", "response-metadata", "text-start", "text-delta", "error"],
  );
  const controller = new AbortController();
  const silent = script.doStream({
    prompt: [user],
    abortSignal: controller.signal,
    providerOptions: { scripted: { turns: [{ results: [{ text: "r", isError: false }] }] } },
  });
  controller.abort(new Error("given up"));
  await assert.rejects(async () => silent, { message: "given up" });
});

test("streams in pieces of whole characters and takes broken arguments as they are written", async () => {
  const script = createScriptedModel(
    Plan.parse({
      steps: [{ say: "a😀b😀c", chunkChars: 2, calls: [{ tool: "t", raw: "{broken" }] }],
      answer: "x",
    }),
    "",
  );
  const streamed = await parts((await script.doStream({ prompt: [user] })).stream);
  assert.deepEqual(
    streamed.flatMap((part) => (part.type === "text-delta" ? [part.delta] : [])),
    ["a😀", "b😀", "c"],
  );
  assert.ok(streamed.some((part) => part.type === "tool-call" && part.input === "{broken"));
});

test("follows the turns that the run sends, whatever is left of the prompt", async () => {
  const { content } = await model.doGenerate({
    prompt: [user],
    providerOptions: {
      scripted: {
        turns: [
          {
            results: [
              { text: "F", isError: false },
              { text: "L", isError: false },
            ],
          },
          { results: [{ text: "E", isError: true }] },
        ],
      },
    },
  });
  assert.deepEqual(content, [{ type: "text", text: "F L E true" }]);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import type { FilePart } from "@switchyard/contracts/agent-runner/content-parts";
import type { Protocol } from "../../test-fixtures/model-protocols.ts";
import { userContent } from "../core/file-content.ts";
import { fillFiles } from "../run/fill-files.ts";
import { startModelServer } from "../../test-fixtures/model-server.ts";
import { callModel } from "./model-call.ts";
import type { ModelAnswer, ModelRequest } from "./model-request.ts";
import { ModelFailure } from "./model-failure.ts";
import { createModelRegistry } from "./model-registry.ts";
import { parseModels } from "./models-file.ts";

/** Every provider package speaks its own protocol to one server. */

const server = await startModelServer();
const PROVIDERS: Record<Protocol, { readonly type: string; readonly path: string }> = {
  chat: { type: "openai-compatible", path: "/v1" },
  responses: { type: "openai", path: "/v1" },
  messages: { type: "anthropic", path: "/v1" },
  gemini: { type: "google", path: "/v1beta" },
};
const registry = createModelRegistry(
  parseModels(
    "models.json",
    JSON.stringify({
      providers: Object.fromEntries(
        Object.entries(PROVIDERS).map(([name, { type, path }]) => [
          name,
          { type, baseURL: server.url + path, apiKeyEnv: "KEY" },
        ]),
      ),
    }),
  ),
  { KEY: "secret" },
);
const TOOL = {
  name: "read",
  description: "reads",
  inputSchema: { type: "object", properties: { path: { type: "string" } } },
};

const fileOf = (name: string, mediaType: string, head: string): [FilePart, Buffer] => {
  const bytes = Buffer.from(`${head} ${name} ${"x".repeat(30)}`, "latin1");
  const facts = { name, mediaType, sizeBytes: bytes.length, sha256: "0".repeat(64) };
  return [{ type: "file", ref: `file-${"0".repeat(32)}`, ...facts }, bytes];
};
const FILES = new Map([
  fileOf("a.png", "image/png", "\x89PNG\r\n\x1a\n"),
  fileOf("b.pdf", "application/pdf", "%PDF-1.4"),
  fileOf("c.wav", "audio/wav", "RIFF\0\0\0\0WAVE"),
]);
/**
 * A schema with everything that a separate form for each provider would have to support: references, unions, `const` and maps, as
 * Pydantic and zod write them.
 */
const SCHEMA = {
  type: "object",
  properties: {
    range: { $ref: "#/$defs/Range" },
    since: { anyOf: [{ type: "string", format: "date-time" }, { type: "null" }], default: null },
    kind: { const: "list" },
    ids: { type: "array", items: { oneOf: [{ type: "string" }, { type: "integer", minimum: 0 }] } },
    labels: { type: "object", additionalProperties: { type: "string" } },
  },
  required: ["range"],
  additionalProperties: false,
  $defs: { Range: { type: "object", properties: { from: { type: ["number", "null"] } } } },
};

/**
 * The tool in a request of each protocol. OpenAI's strict form would need every property to be required
 * (https://platform.openai.com/docs/guides/structured-outputs), and Gemini's `parameters` supports neither references nor `const`
 * (https://ai.google.dev/api/caching#FunctionDeclaration), so neither is used.
 */
const TOOL_SENT: Record<string, (tool: { name: string; description: string }) => unknown> = {
  chat: (tool) => ({ type: "function", function: { ...tool, parameters: SCHEMA } }),
  responses: (tool) => ({ type: "function", ...tool, parameters: SCHEMA, strict: false }),
  messages: (tool) => ({ ...tool, input_schema: SCHEMA, eager_input_streaming: true }),
  gemini: (tool) => ({ functionDeclarations: [{ ...tool, parametersJsonSchema: SCHEMA }] }),
};

for (const protocol of Object.keys(PROVIDERS)) {
  test(`${protocol}: sends a tool's whole schema`, async () => {
    server.answer({ text: ["Hello"] });
    const tool = { name: "list", description: "lists" };
    await ask(protocol, { tools: [{ ...tool, inputSchema: SCHEMA }] });
    const body = server.requests.at(-1)?.body as { tools: unknown[] }; // a request with tools has them
    assert.deepEqual(body.tools, [TOOL_SENT[protocol]?.(tool)]);
  });

  test(`${protocol}: streams text and counts tokens, cached ones too`, async () => {
    server.answer({ text: ["Hel", "lo"], cached: 40 });
    const deltas: string[] = [];
    const answer = await ask(protocol, { onDelta: (delta) => deltas.push(delta) });
    assert.deepEqual(
      answer.content.map((part) => (part.type === "tool-call" ? part.tool : part.text)),
      ["Hello"],
    );
    assert.deepEqual(deltas, ["Hel", "lo"]);
    assert.equal(answer.finishReason, "stop");
    assert.deepEqual(answer.usage, { inputTokens: 100, outputTokens: 20, cacheReadTokens: 40 });
    assert.equal(server.requests.at(-1)?.protocol, protocol);
  });

  test(`${protocol}: reports tool calls side by side and takes their results back`, async () => {
    server.answer(
      {
        text: ["Reading."],
        calls: [
          { id: "call_a", name: "read", args: '{"path":"a.txt"}' },
          { id: "call_b", name: "read", args: '{"path":"b.txt"}' },
        ],
      },
      { text: ["both read"] },
    );
    const asked = await ask(protocol, { tools: [TOOL] });
    const calls = asked.content.filter((part) => part.type === "tool-call");
    assert.equal(asked.finishReason, "tool-calls");
    assert.deepEqual(
      calls.map(({ callId, tool, input }) => [callId, tool, input]),
      [
        ["r:1:0", "read", { path: "a.txt" }],
        ["r:1:1", "read", { path: "b.txt" }],
      ],
    );
    const answered = await ask(protocol, {
      tools: [TOOL],
      messages: [
        { role: "user", content: "hi" },
        {
          role: "assistant",
          content: calls.map(({ toolCallId, tool, input }) => ({
            type: "tool-call",
            toolCallId,
            toolName: tool,
            input,
          })),
        },
        {
          role: "tool",
          content: calls.map(({ toolCallId, tool }, index) => ({
            type: "tool-result",
            toolCallId,
            toolName: tool,
            output: { type: "text", value: `RESULT-${index}` },
          })),
        },
      ],
    });
    assert.equal(answered.finishReason, "stop");
    const sent = JSON.stringify(server.requests.at(-1)?.body);
    assert.match(sent, /RESULT-0.*RESULT-1/);
    assert.match(sent, /You help\./);
  });

  test(`${protocol}: gets an image, a PDF and, where the SDK has a form for it, a sound`, async () => {
    server.answer({ text: ["seen"] });
    const { accepts } = registry.factsOf(`${protocol}/model`);
    const content = userContent("look", [...FILES.keys()]);
    const files = { read: (file: FilePart) => Promise.resolve(FILES.get(file) ?? null) };
    await ask(protocol, {
      messages: await fillFiles([{ role: "user", content }], { accepts, files }),
    });
    const sent = JSON.stringify(server.requests.at(-1)?.body);
    const seen = [...FILES].flatMap(([{ name }, bytes]) =>
      sent.includes(bytes.toString("base64")) ? [name] : [],
    );
    const hasSound = protocol === "chat" || protocol === "gemini";
    assert.deepEqual(seen, ["a.png", "b.pdf", ...(hasSound ? ["c.wav"] : [])]);
    assert.equal(sent.includes("this model does not accept audio/wav"), !hasSound);
  });

  test(`${protocol}: honours Retry-After, retries only retryable failures`, async () => {
    server.answer(
      { status: 429, headers: { "retry-after": "3" }, message: "slow down" },
      { status: 500, message: "broken" },
      { status: 400, message: "bad question" },
    );
    const busy = await failureOf(ask(protocol));
    assert.deepEqual([busy.isRetryable, busy.retryAfterMs], [true, 3_000]);
    assert.match(busy.message, /HTTP 429.*slow down/);
    assert.equal((await failureOf(ask(protocol))).isRetryable, true);
    assert.equal((await failureOf(ask(protocol))).isRetryable, false);
  });

  test(`${protocol}: never accepts a stream that is cut as an answer`, async () => {
    server.answer({ text: ["one ", "two ", "three ", "four"], isCut: true });
    assert.equal((await failureOf(ask(protocol))).isRetryable, true);
  });

  test(`${protocol}: retries when the provider fails in mid-answer, whatever its error is called`, async () => {
    server.answer({ text: ["one ", "two ", "three ", "four"], failsWith: "no more memory" });
    const failure = await failureOf(ask(protocol));
    assert.match(failure.message, /no more memory/);
    assert.equal(failure.isRetryable, true);
  });
}

/** A model that thinks, and the effort that the request to its provider contains. */
const THINKERS: Record<Protocol, { readonly model: string; readonly reported: object }> = {
  chat: { model: "any", reported: { reasoning_effort: "low" } },
  responses: { model: "gpt-5", reported: { reasoning: { effort: "low" } } },
  messages: { model: "claude-sonnet-4-5", reported: { thinking: { type: "enabled" } } },
  gemini: { model: "gemini-3-pro", reported: { generationConfig: { thinkingConfig: {} } } },
};

for (const [protocol, { model: id, reported }] of Object.entries(THINKERS)) {
  test(`${protocol}: the request states the thinking effort in the provider's own field, and leaves it out when none is set [F9]`, async () => {
    const model = await registry.open(`${protocol}/${id}`, { plan: null, input: "x" });
    server.answer({ text: ["done"] }, { text: ["done"] });
    await ask(protocol, { model });
    assert.doesNotMatch(JSON.stringify(server.requests.at(-1)?.body), /reasoning_|effort|thinking/);
    await ask(protocol, { model, thinking: "low" });
    assert.partialDeepStrictEqual(server.requests.at(-1)?.body, reported);
  });
}

test("the level off is sent as none", async () => {
  server.answer({ text: ["done"] });
  await ask("chat", { thinking: "off" });
  assert.equal(server.requests.at(-1)?.body["reasoning_effort"], "none");
});

// Gemini has no text arguments that could be broken.
for (const protocol of ["chat", "responses", "messages"]) {
  test(`${protocol}: stores malformed arguments as the text that the model wrote`, async () => {
    server.answer({ calls: [{ id: "call_a", name: "read", args: '{"path": a.txt' }] });
    const { content } = await ask(protocol, { tools: [TOOL] });
    const call = content.find((part) => part.type === "tool-call");
    assert.equal(call?.input, '{"path": a.txt');
  });
}

async function ask(protocol: string, change: Partial<ModelRequest> = {}): Promise<ModelAnswer> {
  return callModel({
    model: await registry.open(`${protocol}/some-model`, { plan: null, input: "x" }),
    instructions: "You help.",
    messages: [{ role: "user", content: "hi" }],
    tools: [],
    temperature: null,
    callIdOf: (index) => `r:1:${index}`,
    idleTimeoutMs: 10_000,
    signal: new AbortController().signal,
    onDelta: () => {},
    ...change,
  });
}

async function failureOf(asked: Promise<ModelAnswer>): Promise<ModelFailure> {
  const failure: unknown = await asked.then(
    () => null,
    (error: unknown) => error,
  );
  assert.ok(failure instanceof ModelFailure, String(failure));
  return failure;
}

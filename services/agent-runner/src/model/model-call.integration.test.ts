import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { testDirectory } from "@switchyard/testing/test-servers";
import {
  chunk,
  startChatServer,
  textChunks,
  toolCallChunks,
} from "../../test-fixtures/chat-server.ts";
import { callModel } from "./model-call.ts";
import type { ModelAnswer, ModelRequest } from "./model-request.ts";
import { ModelFailure } from "./model-failure.ts";
import { createModelRegistry, ModelUnusable } from "./model-registry.ts";
import { parseModels } from "./models-file.ts";
import { skillTool } from "../core/tool-catalogue.ts";

const server = await startChatServer();
const config = parseModels(
  "models.json",
  JSON.stringify({
    providers: {
      local: { type: "openai-compatible", baseURL: server.baseURL, apiKeyEnv: "LOCAL_KEY" },
      open: { type: "openai-compatible", baseURL: server.baseURL },
      anthropic: { type: "anthropic" },
      openai: { type: "openai", apiKeyEnv: "MY_OPENAI" },
      google: { type: "google", apiKeyFile: "/nowhere/google.key" },
    },
  }),
);
const SKILL_TOOL = skillTool(["summarise"]);
const registry = createModelRegistry(config, { LOCAL_KEY: "key-1" });
const noRun = { plan: null, input: "x" };

test("streams an answer and counts its tokens", async () => {
  server.answer({ chunks: textChunks("Hel", "lo") });
  const deltas: string[] = [];
  const answer = await ask({ onDelta: (delta) => deltas.push(delta) });
  assert.deepEqual(answer.content, [{ type: "text", text: "Hello" }]);
  assert.deepEqual(answer.usage, { inputTokens: 11, outputTokens: 3 });
  assert.equal(answer.finishReason, "stop");
  assert.equal(answer.servedModel, "served-model-1");
  assert.deepEqual(deltas, ["Hel", "lo"]);

  const request = server.requests.at(-1);
  assert.equal(request?.["model"], "some/model:8b");
  assert.deepEqual(request?.["messages"], [
    { role: "system", content: "You help." },
    { role: "user", content: "hi" },
  ]);
  assert.equal(server.authorizations.at(-1), "Bearer key-1");
});

test("reports tool calls with our ids and passes schemas unchanged [C9]", async () => {
  server.answer({
    chunks: toolCallChunks(
      { id: "call_1", name: "skill", args: '{"name":"a"}' },
      { id: "call_1", name: "unknown tool", args: '{"x":1}' },
      { id: "call_3", name: "skill", args: "{broken" },
    ),
  });
  const { content, finishReason } = await ask({ tools: [SKILL_TOOL] });
  assert.equal(finishReason, "tool-calls");
  const calls = content.map((part) => {
    assert.ok(part.type === "tool-call");
    return part;
  });
  assert.deepEqual(
    calls.map(({ callId, tool, input }) => [callId, tool, input]),
    [
      ["r:1:0", "skill", { name: "a" }],
      ["r:1:1", "unknown tool", { x: 1 }],
      ["r:1:2", "skill", "{broken"],
    ],
  );
  const ids = new Set(calls.map(({ toolCallId }) => toolCallId));
  assert.equal(ids.size, 3, "a server that repeats an id does not join two calls");
  assert.deepEqual(server.requests.at(-1)?.["tools"], [
    {
      type: "function",
      function: {
        name: SKILL_TOOL.name,
        description: SKILL_TOOL.description,
        parameters: SKILL_TOOL.inputSchema,
      },
    },
  ]);
});

test("limits a provider's figures and arguments to what the journal can store", async () => {
  const usage = { prompt_tokens: 1e300, completion_tokens: -3, total_tokens: 1 };
  const counted = [chunk({ delta: {}, finish_reason: "stop" }), { id: "x", choices: [], usage }];
  server.answer({ chunks: [chunk({ delta: { content: "a" } }), ...counted] });
  assert.deepEqual((await ask()).usage, { inputTokens: 1e9, outputTokens: 0 });
  const deep = `${'{"a":'.repeat(5_000)}1${"}".repeat(5_000)}`;
  server.answer({ chunks: toolCallChunks({ id: "call_1", name: "skill", args: deep }) });
  const [part] = (await ask({ tools: [SKILL_TOOL] })).content;
  assert.ok(part?.type === "tool-call");
  assert.equal(part.input, "(nested deeper than 256 levels)");
});

test("fails once for each attempt and reports whether a retry may help", async () => {
  server.answer(
    { status: 429, headers: { "retry-after": "2" }, error: "slow down" },
    { status: 400, error: "bad request" },
  );
  const before = server.requests.length;
  const busy = await failureOf(ask());
  assert.equal(busy.isRetryable, true);
  assert.equal(busy.retryAfterMs, 2_000);
  assert.match(busy.message, /HTTP 429.*slow down/);
  const bad = await failureOf(ask());
  assert.equal(bad.isRetryable, false);
  assert.equal(server.requests.length, before + 2);
});

test("reports a stream that breaks off as a failure, never as an answer", async () => {
  const begun = [chunk({ delta: { role: "assistant", content: "half an ans" } })];
  server.answer(
    { chunks: begun, end: "cut" },
    { chunks: [...begun, { error: { message: "overloaded", type: "server_error", code: 503 } }] },
  );
  assert.equal((await failureOf(ask())).isRetryable, true);
  assert.match((await failureOf(ask())).message, /broke off|overloaded/);
});

test("gives up a silent provider, and stops at once when the run does", async () => {
  const begun = [chunk({ delta: { role: "assistant", content: "..." } })];
  server.answer({ chunks: begun, end: "hang" }, { chunks: begun, end: "hang" });
  const silent = await failureOf(ask({ idleTimeoutMs: 100 }));
  assert.match(silent.message, /silent for 100 ms/);
  assert.equal(silent.isRetryable, true);

  const controller = new AbortController();
  const reason = new Error("the run stops");
  const stopped = ask({ signal: controller.signal, onDelta: () => controller.abort(reason) });
  await assert.rejects(stopped, reason);
});

test("reports a connection that cannot be made as retryable", async () => {
  const down = parseModels(
    "models.json",
    '{"providers":{"down":{"type":"openai-compatible","baseURL":"http://127.0.0.1:1/v1"}}}',
  );
  const model = await createModelRegistry(down, {}).open("down/any", noRun);
  assert.equal((await failureOf(ask({ model }))).isRetryable, true);
});

test("schemas that providers refuse are adapted, and arguments come back under the tool's own names", async () => {
  const array = { type: "array" };
  const tools = [
    toolOf("either", {
      properties: { a: {}, b: {} },
      anyOf: [{ required: ["a"] }, { required: ["b"] }],
    }),
    toolOf("filter", {
      properties: { "filter[name]": { type: "string" }, $top: { type: "integer" } },
      required: ["$top"],
    }),
    toolOf("many", { properties: { ids: array } }),
  ];
  const args = '{"filter_name_":"x","_top":1,"other":{"filter[name]":2}}';
  server.answer({ chunks: toolCallChunks({ id: "c", name: "filter", args }) });
  const leftOut: string[] = [];
  const { content } = await ask({ tools, onToolsLeftOut: (names) => leftOut.push(...names) });
  assert.deepEqual(
    content.map((part) => part.type === "tool-call" && part.input),
    [{ "filter[name]": "x", $top: 1, other: { "filter[name]": 2 } }],
  );
  assert.deepEqual(leftOut, []);
  const sent = server.requests.at(-1)?.["tools"] as { function: Record<string, unknown> }[];
  assert.deepEqual(
    sent.map((tool) => tool.function["name"]),
    ["either", "filter", "many"],
  );
  assert.match(String(sent[0]?.function["description"]), /Required: a, or b\./);
});

test("a refusal that names tools removes only these tools, and the next request does not send them", async () => {
  const tools = ["good", "bad_name", "by_position"].map((name) => toolOf(name, {}));
  const refusals = [
    { status: 400, error: "Invalid schema for function 'bad_name': nested too deeply" },
    { status: 400, error: "tools.1.custom.input_schema: unsupported keyword" },
  ];
  server.answer(...refusals, { chunks: textChunks("a") }, { chunks: textChunks("b") });
  const leftOut: (readonly string[])[] = [];
  const asked = { tools, onToolsLeftOut: (names: readonly string[]) => void leftOut.push(names) };
  await ask(asked);
  await ask(asked);
  assert.deepEqual(leftOut, [
    ["bad_name"],
    ["bad_name", "by_position"],
    ["bad_name", "by_position"],
  ]);
  const sent = server.requests.slice(-4).map(({ tools: list }) => (list as unknown[]).length);
  assert.deepEqual(sent, [3, 2, 1, 1]);
  server.answer({ status: 400, error: "max_tokens is too large for the tool good" });
  assert.match((await failureOf(ask(asked))).message, /max_tokens/);
});

function toolOf(name: string, schema: object) {
  return { name, description: "A tool.", inputSchema: { type: "object", ...schema } };
}

test("accepts only models of configured providers, and names the key that is missing", async () => {
  const cases: [string, ModelUnusable["code"], RegExp][] = [
    [
      "nowhere/gpt",
      "unknown_model",
      /nowhere\/gpt is of no configured provider; configured are scripted, local, open/,
    ],
    ["constructor/x", "unknown_model", /no configured provider/],
    ["scripted/other", "unknown_model", /only scripted\/plan/],
    ["scripted/plan", "plan_missing", /add a plan/],
    ["anthropic/claude", "model_key_missing", /ANTHROPIC_API_KEY/],
    ["openai/gpt", "model_key_missing", /MY_OPENAI/],
    ["google/gemini", "model_key_missing", /\/nowhere\/google\.key/],
  ];
  for (const [name, code, message] of cases) {
    await assert.rejects(registry.open(name, noRun), (error) => {
      assert.ok(error instanceof ModelUnusable, name);
      assert.equal(error.code, code);
      assert.match(error.message, message);
      return true;
    });
  }
  assert.equal(registry.defaultModel, "scripted/plan");
});

test("opens every type of provider, with keys from variables and files", async () => {
  const keyFile = join(await testDirectory(), "google.key");
  await writeFile(keyFile, "file-key\n");
  const models = createModelRegistry(
    {
      ...config,
      providers: { ...config.providers, google: { type: "google", apiKeyFile: keyFile } },
    },
    { ANTHROPIC_API_KEY: "a", MY_OPENAI: "b", LOCAL_KEY: "c" },
  );
  for (const name of ["anthropic/m", "openai/m", "google/m", "local/m", "open/m"]) {
    const model = await models.open(name, noRun);
    assert.equal(model.specificationVersion, "v4", name);
    assert.equal(model.modelId, "m");
    assert.ok(model.provider.startsWith(name.split("/")[0] ?? "?"), model.provider);
  }
});

async function ask(change: Partial<ModelRequest> = {}): Promise<ModelAnswer> {
  return callModel({
    model: await registry.open("local/some/model:8b", noRun),
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

test("lists the configured providers, and for which of them there is a key", async () => {
  assert.deepEqual(await registry.providers(), [
    { name: "scripted", type: "scripted", hasKey: true },
    { name: "local", type: "openai-compatible", hasKey: true, keyVariable: "LOCAL_KEY" },
    { name: "open", type: "openai-compatible", hasKey: true },
    { name: "anthropic", type: "anthropic", hasKey: false, keyVariable: "ANTHROPIC_API_KEY" },
    { name: "openai", type: "openai", hasKey: false, keyVariable: "MY_OPENAI" },
    { name: "google", type: "google", hasKey: false },
  ]);
});

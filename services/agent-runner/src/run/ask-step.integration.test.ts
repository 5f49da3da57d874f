import { noFiles } from "../../test-fixtures/no-files.ts";
import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import { testRedis } from "@switchyard/testing/test-servers";
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { startedEntry } from "../../test-fixtures/journals.ts";
import { startModelServer } from "../../test-fixtures/model-server.ts";
import { applyEntry, startOf } from "../core/replay.ts";
import type { RunState } from "../core/run-state.ts";
import type { StartedEntry } from "../core/started-entry.ts";
import { openProviderLimiter } from "../model/provider-limiter.ts";
import { Suspended } from "../core/interruption.ts";
import { ModelFailure } from "../model/model-failure.ts";
import { createModelRegistry } from "../model/model-registry.ts";
import type { Spent } from "../core/model-price.ts";
import type { StepListener } from "../journal/live-text.ts";
import type { OfferedTool } from "../core/tool-catalogue.ts";
import {
  CandidateCaller,
  type AskContext,
  type CandidateListener,
  type StepAnswer,
} from "./ask-candidates.ts";
import { askStep } from "./ask-step.ts";
import { parseModels } from "../model/models-file.ts";

const redisServer = await testRedis();
const server = await startModelServer();
const redis = await connectRedis({
  url: redisServer.url,
  name: "test",
  log: createLog({ service: "test", level: "silent" }),
});
after(() => {
  redis.disconnect();
});
const limiter = openProviderLimiter(redis);
const models = createModelRegistry(
  parseModels(
    "models.json",
    JSON.stringify({
      providers: {
        first: { type: "anthropic", baseURL: `${server.url}/v1`, apiKeyEnv: "FIRST" },
        second: { type: "openai-compatible", baseURL: `${server.url}/v1`, apiKeyEnv: "SECOND" },
        third: { type: "openai", baseURL: `${server.url}/v1`, apiKeyEnv: "SECOND" },
        keyless: { type: "openai", apiKeyEnv: "NOBODY_HAS_IT" },
      },
      models: {
        "first/large": { fallbacks: ["keyless/x", "second/small"] },
        "second/marked": { cacheMarks: true, structuredOutputs: true },
        "second/small": { price: { input: 1, output: 10 } },
      },
    }),
  ),
  { FIRST: "key-1", SECOND: "key-2" },
);

test("falls back to the next model that can answer, and stays with it", async () => {
  const resets: number[] = [];
  const asker = askerWith({ onReset: (step) => resets.push(step) });
  server.answer({ status: 404, message: "no model large" }, { text: ["from second"] });
  const state = startOf(startedEntry({ model: "first/large" }));
  const answer = await asker.ask(state, 1, []);
  assert.equal(answer.model, "second/small");
  assert.equal(answer.costUsd, 0.0003);
  assert.deepEqual(
    answer.passedOver?.map(({ model }) => model),
    ["first/large", "keyless/x"],
  );
  assert.match(answer.passedOver?.[0]?.message ?? "", /HTTP 404.*no model large/);
  assert.match(answer.passedOver?.[1]?.message ?? "", /NOBODY_HAS_IT/);
  assert.deepEqual(resets, [1, 1]);

  const { model, costUsd } = answered(state, answer);
  assert.equal(model, "second/small");
  assert.equal(costUsd, 0.0003);
  server.answer({ text: ["again"] });
  const next = await asker.ask({ ...state, model }, 2, []);
  assert.equal(next.model, "second/small");
  assert.equal(server.requests.at(-1)?.protocol, "chat");
});

test("marks the parts that Anthropic and OpenRouter are to cache, and gives OpenAI a key of the session", async () => {
  const secondRequest = async (model: string, more: Partial<StartedEntry> = {}) => {
    const before = [
      { role: "user" as const, text: "hi" },
      { role: "assistant" as const, text: "hello" },
    ];
    const fields = { model, instructions: "You help.", before, ...more };
    const first = startOf(startedEntry(fields));
    const { runId } = first.started;
    const call = { id: "c", name: "mcp__files__read", args: "{}" };
    server.answer({ calls: [call] }, { text: ["done"] });
    const tools = [{ name: call.name, description: "", inputSchema: { type: "object" } }];
    const asked = answered(first, await askerWith().ask(first, 1, tools));
    const { at } = asked.started;
    const gone = { kind: "tool-failed" as const, at, code: "gone", message: "gone" };
    await askerWith().ask(applyEntry(asked, { ...gone, callId: `${runId}:1:0` }), 2, tools);
    return server.requests.at(-1)?.body ?? {};
  };
  const anthropic = marksIn(await secondRequest("first/other"));
  assert.deepEqual(anthropic.slice(0, 3), ["You help.", "hi", "do it"]);
  assert.match(String(anthropic[3]), /gone/);
  const chat = marksIn(await secondRequest("second/marked"));
  assert.deepEqual(chat.slice(0, 3), anthropic.slice(0, 3));
  assert.match(String(chat[3]), /gone/);
  assert.deepEqual(marksIn(await secondRequest("second/small")), []);

  const session = { sessionId: `ses-${"0".repeat(26)}-1`, key: "chat" };
  const keys: unknown[] = [];
  for (const more of [{ session }, { session, runId: "r2" }, {}])
    keys.push((await secondRequest("third/gpt", more))["prompt_cache_key"]);
  assert.equal(keys[0], keys[1]);
  assert.notEqual(keys[0], keys[2]);
  assert.match(String(keys[0]), /^[\w-]{32}$/);
});

test("makes a provider enforce the form of the answer, unless it cannot or refuses", async () => {
  const output = {
    type: "object",
    properties: { next: { anyOf: [{ $ref: "#" }, { type: "null" }] } },
    required: ["next"],
    additionalProperties: false,
  };
  const formOf = async (model: string, form: Record<string, unknown> = output) => {
    server.answer({ text: ['{"next":null}'] });
    await askerWith().ask(startOf(startedEntry({ model, output: form })), 1, []);
    const { text, response_format: format } = server.requests.at(-1)?.body ?? {};
    return JSON.stringify(text ?? format);
  };
  const sent = /"type":"json_schema","strict":true,"name":"answer","schema":.*"#"/;
  assert.match(await formOf("third/gpt"), sent);
  assert.match(await formOf("second/marked"), /"json_schema".*"strict":true/);
  for (const [model, form] of [
    ["second/small", output],
    ["first/other", output],
    ["third/gpt", { ...output, additionalProperties: true }],
  ] as const)
    assert.equal(await formOf(model, form), undefined, model);
  server.answer({ status: 400, message: "Invalid schema for response_format 'answer'" });
  assert.equal(await formOf("third/gpt-old"), undefined);
  assert.equal(await formOf("third/gpt-old"), undefined);
});

test("makes a call again that broke off, and reports that the text so far is void", async () => {
  const received: string[] = [];
  const discarded: Spent[] = [];
  const asker = askerWith({
    onDiscarded: (use) => discarded.push(use),
    onDelta: (_step, text) => received.push(text),
    onReset: () => received.push("RESET"),
  });
  server.answer({ text: ["one ", "two ", "three ", "four"], isCut: true }, { text: ["whole"] });
  const answer = await asker.ask(startOf(startedEntry({ model: "second/small" })), 1, []);
  assert.deepEqual(answer.content, [{ type: "text", text: "whole" }]);
  assert.ok(received.indexOf("RESET") > 0);
  assert.deepEqual(received.slice(received.indexOf("RESET")), ["RESET", "whole"]);
  // The text of the broken answer was paid for, and the stream ended before the provider reported its usage.
  assert.equal(discarded.length, 1);
  const { usage, costUsd } = discarded[0] ?? { usage: { inputTokens: 0, outputTokens: 0 } };
  assert.ok(usage.inputTokens > 0 && usage.outputTokens >= 3, JSON.stringify(usage));
  assert.equal(usage.estimatedTokens, usage.inputTokens + usage.outputTokens);
  assert.ok(costUsd !== null && costUsd !== undefined && costUsd > 0);
});

test("without a fallback the run fails with the model's failure", async () => {
  server.answer({ status: 400, message: "bad question" });
  await assert.rejects(
    askerWith().ask(startOf(startedEntry({ model: "second/small" })), 1, []),
    (error) => error instanceof ModelFailure && /bad question/.test(error.message),
  );
});

test("a provider's long pause delays its other callers, and returns a run without a fallback to the queue", async () => {
  const scope = await models.scopeOf("first/other");
  assert.ok(scope !== null);
  await limiter.pause(scope, 600_000);
  const before = server.requests.length;
  await assert.rejects(
    askerWith().ask(startOf(startedEntry({ model: "first/other" })), 1, []),
    Suspended,
  );
  assert.equal(server.requests.length, before, "no model was called");
  server.answer({ text: ["meanwhile"] });
  const answer = await askerWith().ask(startOf(startedEntry({ model: "first/large" })), 1, []);
  assert.equal(answer.model, "second/small");
  await redis.flushall();
});

test("calls the next model at once when a provider requires a longer pause than a run waits for", async () => {
  const longPause = { status: 429, headers: { "retry-after": "600" }, message: "come tomorrow" };
  const waiting = AbortSignal.timeout(60_000); // shorter than the pause
  server.answer(longPause, { text: ["meanwhile"] });
  const large = startOf(startedEntry({ model: "first/large" }));
  assert.equal((await askerWith({ waiting }).ask(large, 1, [])).model, "second/small");
  await redis.flushall();
  server.answer(longPause);
  const alone = startOf(startedEntry({ model: "first/other" }));
  await assert.rejects(askerWith({ waiting }).ask(alone, 1, []), Suspended);
  await redis.flushall();
});

test("waits while its only model is unavailable, and returns to the queue when that takes too long", async () => {
  const away = { status: 529, message: "Overloaded" };
  const state = startOf(startedEntry({ model: "first/other" }));
  server.answer(away, away, away, away);
  const before = server.requests.length;
  await assert.rejects(
    askerWith({ modelOutageMs: 100 }).ask(state, 1, []),
    (error) => error instanceof Suspended && (error.waitMs ?? 0) > 0,
  );
  assert.equal(server.requests.length - before, 4);
  server.answer({ text: ["back"] });
  assert.equal((await askerWith().ask(state, 1, [])).model, "first/other");
});

test("reports a cost as unknown when the models file has no price", async () => {
  server.answer({ text: ["x"] });
  const state = startOf(startedEntry({ model: "first/other" }));
  const answer = await askerWith().ask(state, 1, []);
  assert.equal(answer.costUsd, null);
  assert.equal(answered(state, answer).costUsd, null);
  assert.equal(answered(state, answer).knownCostUsd, 0);
});

function askerWith({
  waiting,
  modelOutageMs = 60_000,
  ...received
}: Partial<StepListener & CandidateListener> & {
  readonly waiting?: AbortSignal;
  readonly modelOutageMs?: number;
} = {}) {
  const { signal } = new AbortController();
  const context: AskContext = {
    models,
    limiter,
    files: noFiles,
    modelIdleTimeoutMs: 10_000,
    modelOutageMs,
    signal,
    waiting: waiting ?? signal,
    random: () => 0,
    now: Date.now,
  };
  const candidates = new CandidateCaller(context, { onDiscarded: () => {}, ...received });
  const live = { onDelta: () => {}, onReset: () => {}, onAnswered: () => {}, ...received };
  return {
    ask: (state: RunState, step: number, tools: readonly OfferedTool[]) =>
      askStep(candidates, state, { step, tools, live }),
  };
}

function answered(state: RunState, answer: StepAnswer): RunState {
  const { at } = state.started;
  return applyEntry(state, { kind: "model-responded", at, step: 1, durationMs: 1, ...answer });
}

/** The text or content of each part of a request that has a mark, in the order of the provider's cache: tools, system prompt, messages. */
function marksIn({ tools, system, messages }: Readonly<Record<string, unknown>>): unknown[] {
  const marks: unknown[] = [];
  JSON.stringify([tools, system, messages], (_key, value: unknown) => {
    if (typeof value === "object" && value !== null && "cache_control" in value)
      marks.push("text" in value ? value.text : "content" in value ? value.content : value);
    return value;
  });
  return marks;
}

import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import { testRedis } from "@switchyard/local-servers/test-servers";
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { startedEntry } from "../../test-fixtures/journals.ts";
import { startModelServer } from "../../test-fixtures/model-server.ts";
import { applyEntry, startOf } from "../core/replay.ts";
import type { RunState } from "../core/run-state.ts";
import { openProviderLimiter } from "../limits/provider-limiter.ts";
import { Suspended } from "../signals/interruption.ts";
import { ModelFailure } from "../model/model-failure.ts";
import { createModelRegistry } from "../model/model-registry.ts";
import type { Spent } from "../core/model-price.ts";
import type { AskContext } from "./ask-candidates.ts";
import { ModelCaller, type AskListener } from "./ask-model.ts";
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
        keyless: { type: "openai", apiKeyEnv: "NOBODY_HAS_IT" },
      },
      models: {
        "first/large": { fallbacks: ["keyless/x", "second/small"] },
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

test("makes a call again that broke off, and says that the text so far is void", async () => {
  const heard: string[] = [];
  const discarded: Spent[] = [];
  const asker = askerWith({
    onDiscarded: (use) => discarded.push(use),
    onDelta: (_step, text) => heard.push(text),
    onReset: () => heard.push("RESET"),
  });
  server.answer({ text: ["one ", "two ", "three ", "four"], isCut: true }, { text: ["whole"] });
  const answer = await asker.ask(startOf(startedEntry({ model: "second/small" })), 1, []);
  assert.deepEqual(answer.content, [{ type: "text", text: "whole" }]);
  assert.ok(heard.indexOf("RESET") > 0);
  assert.deepEqual(heard.slice(heard.indexOf("RESET")), ["RESET", "whole"]);
  // What it wrote was paid for, and the provider did not come to say how much.
  assert.equal(discarded.length, 1);
  const { usage, costUsd } = discarded[0] ?? { usage: { inputTokens: 0, outputTokens: 0 } };
  assert.ok(usage.inputTokens > 0 && usage.outputTokens >= 3, JSON.stringify(usage));
  assert.equal(usage.estimatedTokens, usage.inputTokens + usage.outputTokens);
  assert.ok(costUsd !== null && costUsd !== undefined && costUsd > 0);
});

test("without a fallback the failure of the model stands", async () => {
  server.answer({ status: 400, message: "bad question" });
  await assert.rejects(
    askerWith().ask(startOf(startedEntry({ model: "second/small" })), 1, []),
    (error) => error instanceof ModelFailure && /bad question/.test(error.message),
  );
});

test("a provider's long pause holds its other callers back, and sends a run without a fallback away", async () => {
  const scope = await models.scopeOf("first/other");
  assert.ok(scope !== null);
  await limiter.pause(scope, 600_000);
  const before = server.requests.length;
  await assert.rejects(
    askerWith().ask(startOf(startedEntry({ model: "first/other" })), 1, []),
    Suspended,
  );
  assert.equal(server.requests.length, before, "nobody was asked");
  server.answer({ text: ["meanwhile"] });
  const answer = await askerWith().ask(startOf(startedEntry({ model: "first/large" })), 1, []);
  assert.equal(answer.model, "second/small");
  await redis.flushall();
});

test("leaves a model at once whose provider wants a longer pause than a run waits for", async () => {
  const longPause = { status: 429, headers: { "retry-after": "600" }, message: "come tomorrow" };
  const waiting = AbortSignal.timeout(5_000); // nobody pauses so long
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

test("says that a cost is unknown when the models file has no price", async () => {
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
  ...heard
}: Partial<AskListener> & {
  readonly waiting?: AbortSignal;
  readonly modelOutageMs?: number;
} = {}): ModelCaller {
  const { signal } = new AbortController();
  const context: AskContext = {
    models,
    limiter,
    modelIdleTimeoutMs: 10_000,
    modelOutageMs,
    signal,
    waiting: waiting ?? signal,
    random: () => 0,
    now: Date.now,
  };
  const ignored = { onDelta: () => {}, onReset: () => {}, onAnswered: () => {} };
  return new ModelCaller(context, { ...ignored, onDiscarded: () => {}, ...heard });
}

function answered(state: RunState, answer: Awaited<ReturnType<ModelCaller["ask"]>>): RunState {
  const { at } = state.started;
  return applyEntry(state, { kind: "model-responded", at, step: 1, durationMs: 1, ...answer });
}

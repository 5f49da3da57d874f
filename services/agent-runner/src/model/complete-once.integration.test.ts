import assert from "node:assert/strict";
import { after, test } from "node:test";
import { call } from "@switchyard/bus/call";
import { connectBus } from "@switchyard/bus/connect";
import { serve } from "@switchyard/bus/serve";
import { isError } from "@switchyard/contracts/errors";
import { completeModel } from "@switchyard/contracts/agent-runner/model-completion";
import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import { testNats, testRedis } from "@switchyard/testing/test-servers";
import type { z } from "zod";
import { chunk, startChatServer, textChunks } from "../../test-fixtures/chat-server.ts";
import { openProviderLimiter } from "./provider-limiter.ts";
import { handleCompletions } from "./complete-once.ts";
import { createModelRegistry } from "./model-registry.ts";
import { parseModels } from "./models-file.ts";

const [nats, chat, redisServer] = await Promise.all([testNats(), startChatServer(), testRedis()]);
const broker = await connectBus({ servers: nats.url, user: "broker" });
const runner = await connectBus({ servers: nats.url, user: "runner" });
after(() => Promise.all([broker.close(), runner.close()]));

const provider = { type: "openai-compatible", baseURL: chat.baseURL };
const models = createModelRegistry(
  parseModels("models.json", JSON.stringify({ providers: { local: provider } })),
  {},
);
const service = serve(runner, {
  name: "runner",
  version: "0.0.0",
  description: "test",
  onFault: () => undefined,
});
const choices: [string, ...string[]] = ["scripted/plan", "local/small", "local/large"];
const redis = await connectRedis({
  url: redisServer.url,
  name: "test",
  log: createLog({ service: "test", level: "silent" }),
});
after(() => {
  redis.disconnect();
});
const limiter = openProviderLimiter(redis);
handleCompletions(service, { models, limiter, choices: () => choices, idleTimeoutMs: 60_000 });
await runner.flush();

type Asked = z.input<typeof completeModel.request>;
const complete = (request: Partial<Asked>) =>
  call(broker, completeModel, {
    system: "be short",
    messages: [{ role: "user", content: [{ type: "text", text: "hi" }] }],
    maxTokens: 50,
    temperature: null,
    hints: ["large"],
    ...request,
  });

test("a completion uses the model that a hint matches, within the allowed tokens", async () => {
  chat.answer({ chunks: textChunks("Hel", "lo") });
  assert.deepEqual(await complete({ stopSequences: ["END"], temperature: 0.5 }), {
    model: "local/large",
    text: "Hello",
    stopReason: "endTurn",
    usage: { inputTokens: 11, outputTokens: 3 },
  });
  const request = chat.requests.at(-1) ?? {};
  assert.deepEqual(
    [request["model"], request["max_tokens"], request["stop"], request["temperature"]],
    ["large", 50, ["END"], 0.5],
  );
  assert.equal(request["tools"], undefined);
  assert.deepEqual(request["messages"], [
    { role: "system", content: "be short" },
    { role: "user", content: "hi" },
  ]);
});

test("an answer that was cut at its token limit is reported as cut, and an image is sent along", async () => {
  chat.answer({
    chunks: [chunk({ delta: { content: "Hel" } }), chunk({ delta: {}, finish_reason: "length" })],
  });
  const image = { type: "image", data: "aGk=", mimeType: "image/png" } as const;
  const reply = await complete({
    messages: [{ role: "user", content: [{ type: "text", text: "what is it?" }, image] }],
  });
  assert.equal(reply.stopReason, "maxTokens");
  assert.match(JSON.stringify(chat.requests.at(-1)?.["messages"]), /data:image\/png;base64,aGk=/);
});

test("the error distinguishes a completion without a usable model from one whose model fails", async () => {
  const noModel = await complete({ hints: [] }).catch((error: unknown) => error);
  assert.ok(isError(noModel, completeModel, "no_model"), String(noModel));
  assert.match(noModel.message, /scripted\/plan only plays plans/);
  chat.answer({ status: 400, error: "bad request" });
  const failed = await complete({}).catch((error: unknown) => error);
  assert.ok(isError(failed, completeModel, "model_failed"), String(failed));
});

test("is held back with the runs when the provider wants a pause", async () => {
  const scope = await models.scopeOf("local/small");
  assert.ok(scope !== null);
  await limiter.pause(scope, 60_000);
  const request = {
    hints: ["small"],
    system: null,
    messages: [{ role: "user" as const, content: [{ type: "text" as const, text: "hi" }] }],
    maxTokens: 10,
    temperature: null,
  };
  await assert.rejects(
    call(broker, completeModel, request),
    (error) =>
      isError(error, completeModel, "too_many_completions") && /takes no call/.test(error.message),
  );
});

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { testDirectory } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import { startChatServer, textChunks } from "../../test-fixtures/chat-server.ts";
import { agent, labTool } from "../../test-fixtures/fake-services.ts";
import { assertNumbered, startLab, type RunEventRecord } from "../../test-fixtures/runner-lab.ts";

/** Commands that reach a run while its model or one of its tools is at work. */

const directory = await testDirectory();
const lab = await startLab();
const { services } = lab;
const log = createLog({ service: "test", level: "silent" });
const redis = await connectRedis({ url: lab.redis.url, name: "test", log });
after(() => redis.disconnect());
const chat = await startChatServer();
const modelsFile = join(directory, "models.json");
const local = { type: "openai-compatible", baseURL: chat.baseURL };
await writeFile(modelsFile, JSON.stringify({ default: "local/m", providers: { local } }));
await lab.runner({ YARD_MODELS_FILE: modelsFile });

services.agents.set("thinker", agent("thinker", { model: null, tools: [] }));
const gated = { calls: [{ tool: labTool("gate"), with: {}, as: "gate" }] };
services.agents.set(
  "worker",
  agent("worker", { plan: { steps: [gated], answer: "{{/results/gate/text}}" } }),
);

test("a message that comes while the model is at work is received before the run ends", async () => {
  const gate = Promise.withResolvers<void>();
  chat.answer({ chunks: textChunks("too soon"), from: gate.promise });
  chat.answer({ chunks: textChunks("as you said") });
  await lab.command("thinker", { runId: "thinking", input: "x" });
  await until(() => Promise.resolve(chat.requests.length === 1));
  await lab.publish("yard.cmd.cli.run.steer.thinking", '{"message":"make it short"}');
  await lab.eventsUntil("thinking", "steered");
  gate.resolve();
  const events = await lab.eventsUntil("thinking", "finished");
  assertNumbered(events);
  assert.equal(events.at(-1)?.payload["output"], "as you said");
  assert.equal(namesOf(events).filter((name) => name === "model-responded").length, 2);
  assert.match(JSON.stringify(chat.requests.at(-1)?.["messages"]), /make it short/);
});

test("a message that comes while a tool is at work waits for its result, and the call is made once", async () => {
  const gate = newGate();
  await lab.command("worker", { runId: "working", input: "x" });
  await gate.reached;
  await lab.publish("yard.cmd.cli.run.steer.working", '{"message":"hurry"}');
  await lab.eventsUntil("working", "steered");
  gate.open();
  const events = await lab.eventsUntil("working", "finished");
  assertNumbered(events);
  const names = namesOf(events);
  assert.ok(names.indexOf("steered") < names.indexOf("tool-completed"));
  assert.equal(events.at(-1)?.payload["output"], "opened");
  assert.equal(services.requested.get("cli~working:1:0"), 1);
});

test("a cancel ends a run whose model is at work, and the model's later answer is ignored", async () => {
  const gate = Promise.withResolvers<void>();
  const before = chat.requests.length;
  chat.answer({ chunks: textChunks("too late"), from: gate.promise });
  await lab.command("thinker", { runId: "unthought", input: "x" });
  await until(() => Promise.resolve(chat.requests.length === before + 1));
  await lab.publish("yard.cmd.cli.run.cancel.unthought", '{"reason":"enough"}');
  const events = await lab.eventsUntil("unthought", "cancelled");
  assertNumbered(events);
  assert.deepEqual(namesOf(events), ["started", "cancelled"]);
  gate.resolve();
  await until(async () => (await lab.pendingCommands()) === 0);
});

test("a copy of a run is complete when the run itself has expired", async () => {
  newGate().open();
  await lab.command("worker", { runId: "original", input: "x" });
  await lab.eventsUntil("original", "finished");
  const body = { newRunId: "copy", fromStep: 2 };
  await lab.publish("yard.cmd.cli.run.fork.original", JSON.stringify(body));
  await lab.eventsUntil("copy", "finished");
  const keys = await redis.keys("yard:run:{cli~original}:*");
  assert.ok(keys.length > 0);
  await redis.del(...keys);
  await lab.publish("yard.cmd.cli.run.fork.copy", '{"newRunId":"copy-of-copy","fromStep":2}');
  const events = await lab.eventsUntil("copy-of-copy", "finished");
  assertNumbered(events);
  assert.equal(events.at(-1)?.payload["output"], "opened");
  const requested = ["original", "copy", "copy-of-copy"].map((runId) =>
    services.requested.get(`cli~${runId}:1:0`),
  );
  assert.deepEqual(requested, [1, undefined, undefined], "the call was made by the first alone");
  await lab.publish("yard.cmd.cli.run.fork.original", '{"newRunId":"none","fromStep":1}');
  const rejected = await lab.eventsUntil("none", "rejected");
  assert.equal(rejected.at(-1)?.payload["code"], "unknown_run");
});

function namesOf(events: readonly RunEventRecord[]): string[] {
  return events.map(({ name }) => name);
}

/** The tool `gate` answers once it is opened. */
function newGate(): { readonly reached: Promise<void>; open(): void } {
  const reached = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<string>();
  services.tools.set("gate", () => {
    reached.resolve();
    return opened.promise;
  });
  return { reached: reached.promise, open: () => opened.resolve("opened") };
}

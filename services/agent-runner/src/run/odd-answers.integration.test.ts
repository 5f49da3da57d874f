import { call } from "@switchyard/bus/call";
import { subscribeLive } from "@switchyard/bus/events";
import { runLive } from "@switchyard/contracts/agent-runner/run-events";
import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import { answerQuestion } from "@switchyard/contracts/agent-runner/run-waits";
import { getRecording } from "@switchyard/contracts/agent-runner/run-recordings";
import { getRun } from "@switchyard/contracts/agent-runner/runs";
import { testDirectory } from "@switchyard/testing/test-servers";
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import {
  chunk,
  startChatServer,
  textChunks,
  toolCallChunks,
} from "../../test-fixtures/chat-server.ts";
import { agent, labTool } from "../../test-fixtures/fake-services.ts";
import { startLab } from "../../test-fixtures/runner-lab.ts";
import { journalKey } from "../journal/run-keys.ts";

const directory = await testDirectory();
const lab = await startLab();
const { services } = lab;
const server = await startChatServer();
const models = join(directory, "models.json");
const local = { type: "openai-compatible", baseURL: server.baseURL };
await writeFile(
  models,
  JSON.stringify({
    default: "local/m",
    providers: {
      local,
    },
    models: {
      "local/thinks": { startsInReasoning: true },
    },
  }),
);
await lab.runner({ YARD_MODELS_FILE: models }, { modelIdleTimeoutMs: 3_000 });
services.agents.set("odd", agent("odd", { model: "local/m" }));
services.tools.set("wipe", () => "wiped");

const log = createLog({ service: "test", level: "silent" });
const redis = await connectRedis({ url: lab.redis.url, name: "test", log });
after(() => redis.disconnect());

const deep = (levels: number): string => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;

test("makes no call whose arguments may have been cut off, and reports that to the model", async () => {
  const [begun] = toolCallChunks({ id: "call_1", name: labTool("wipe"), args: "" });
  const cut = [begun, chunk({ delta: {}, finish_reason: "length" })];
  server.answer({ chunks: cut }, { chunks: textChunks("ok") });
  await lab.command("odd", { runId: "cut", input: "x" });
  const events = await lab.eventsUntil("cut", "finished");
  const failed = events.find(({ name }) => name === "tool-failed");
  assert.equal(failed?.payload["code"], "invalid_arguments");
  assert.equal(services.requested.get("cli~cut:1:0"), undefined);
  assert.match(
    JSON.stringify(server.requests.at(-1)),
    /your answer broke off before the arguments/,
  );
});

test("a run survives a provider's impossible figures and arguments", async () => {
  const usage = { prompt_tokens: 1e300, completion_tokens: 1e300, total_tokens: 1e300 };
  const asked = toolCallChunks({ id: "call_1", name: labTool("wipe"), args: deep(6_000) });
  const counted = [...asked.slice(0, -1), { id: "x", choices: [], usage }];
  server.answer({ chunks: counted }, { chunks: textChunks("ok") });
  await lab.command("odd", { runId: "huge", input: "x" });
  const events = await lab.eventsUntil("huge", "finished");
  assert.ok(!events.some(({ name }) => name === "resumed"), "no runner failed at it");
  const { run } = await call(lab.bus, getRun, { runId: "huge" });
  assert.deepEqual(run.usage, { inputTokens: 1e9 + 11, outputTokens: 1e9 + 3 });
});

test("counts the usage of broken answers: retried, given up, or cancelled [run-goal-9]", async () => {
  const { usage: whole } = await usageOf("unbroken", [{ chunks: textChunks("ok") }]);
  assert.equal(whole.estimatedTokens, undefined);
  const begun = [chunk({ delta: { content: "yes ".repeat(100) } })];

  const again = await usageOf("again", [
    { chunks: begun, end: "cut" },
    { chunks: textChunks("ok") },
  ]);
  const estimated = again.usage.estimatedTokens ?? 0;
  assert.equal(again.usage.outputTokens, whole.outputTokens + 100, "a quarter of what it wrote");
  const { inputTokens, outputTokens } = again.usage;
  assert.equal(inputTokens + outputTokens, whole.inputTokens + whole.outputTokens + estimated);

  // Each further attempt would exceed the limit further.
  const tight = { maxTokens: estimated + 10 };
  const broken = { chunks: begun, end: "cut" as const };
  const limited = await usageOf("limited", [broken, broken], tight);
  assert.equal(limited.failure?.code, "limit_exceeded");
  assert.equal(limited.usage.estimatedTokens, 2 * estimated);

  server.answer({ chunks: begun, end: "hang" });
  const written = Promise.withResolvers<void>();
  const live = subscribeLive(lab.bus, runLive, { owner: "cli", runId: "stopped" }, () =>
    written.resolve(),
  );
  await lab.command("odd", { runId: "stopped", input: "x" });
  await written.promise;
  live.stop();
  await lab.publish("yard.cmd.cli.run.cancel.stopped", "{}");
  await lab.eventsUntil("stopped", "cancelled");
  const { run } = await call(lab.bus, getRun, { runId: "stopped" });
  assert.equal(run.usage.estimatedTokens, estimated);
});

test("refuses at once an input that is nested too deeply, and a copy under the new run's id", async () => {
  await lab.publish("yard.cmd.cli.run.start.odd", `{"runId":"deep","input":${deep(6_000)}}`);
  const [refused] = await lab.eventsUntil("deep", "rejected");
  assert.equal(refused?.payload["code"], "invalid_command");
  assert.match(String(refused?.payload["problems"]), /nested deeper than \d+ levels/);
  await lab.publish("yard.cmd.cli.run.fork.huge", '{"newRunId":"copy","fromStep":0}');
  const [copy] = await lab.eventsUntil("copy", "rejected");
  assert.equal(copy?.payload["code"], "invalid_command");
});

const SECRET = "secret plan";
const REASONED: Readonly<Record<string, readonly string[]>> = {
  closed: [`<think>\n${SECRET}\n</think>\n\nThe answer`],
  pieces: ["<th", "ink", ">secret", " plan</", "thi", "nk>\nThe", " answer"],
  attributes: [`< think depth="2" >${SECRET}</ think >The answer`],
  unopened: [`${SECRET}…\n</thi`, "nk>\n\nThe answer"],
  nested: [`<think>a <think>${SECRET}</think> b</think>The answer`],
  unclosed: [`<think>${SECRET}`, " without end"],
  said: ["The answer: write `<think>` and </think> around it."],
};
for (const [how, pieces] of Object.entries(REASONED))
  test(`no interface shows the reasoning in a model's text: ${how}`, async () => {
    const said: { delta: string; kind?: string | undefined }[] = [];
    const live = subscribeLive(lab.bus, runLive, { owner: "cli", runId: how }, (reported) =>
      said.push(reported),
    );
    // The runner repeats the request after an answer of reasoning alone.
    const again = how === "unclosed" ? [{ chunks: textChunks("The answer") }] : [];
    server.answer({ chunks: textChunks(...pieces) }, ...again);
    await lab.command("odd", { runId: how, input: "x" });
    const events = await lab.eventsUntil(how, "finished");
    live.stop();
    const output = how === "said" ? pieces.join("") : "The answer";
    assert.equal(events.at(-1)?.payload["output"], output);
    assert.doesNotMatch(JSON.stringify(events), /secret/);
    // Live text before a closing tag without an opening one is void.
    const from = said.findLastIndex(({ kind }) => kind === "reset-step") + 1;
    assert.equal(
      said
        .slice(from)
        .map(({ delta }) => delta)
        .join(""),
      output,
    );
    if (how !== "unopened" && how !== "unclosed") assert.equal(from, 0);
    // The journal keeps the reasoning for the model, except that of an answer that was rejected.
    const { run } = await call(lab.bus, getRecording, { runId: `cli~${how}` });
    assert.equal(JSON.stringify(run).includes("secret"), how !== "said" && how !== "unclosed");
  });

/** The live text of a run of this agent, whose model answers with a closing tag alone. */
async function liveTextOf(runId: string, name: string): Promise<string> {
  let text = "";
  const live = subscribeLive(lab.bus, runLive, { owner: "cli", runId }, ({ delta }) => {
    text += delta;
  });
  server.answer({ chunks: textChunks(SECRET, "\n</think>\n", "The answer") });
  await lab.command(name, { runId, input: "x" });
  const events = await lab.eventsUntil(runId, "finished");
  live.stop();
  assert.equal(events.at(-1)?.payload["output"], "The answer");
  return text;
}

test("a model whose template opens its reasoning has no live text before the closing tag: by the models file, or after the first answer", async () => {
  services.agents.set("template", agent("template", { model: "local/thinks" }));
  services.agents.set("learnt", agent("learnt", { model: "local/learnt" }));
  assert.equal(await liveTextOf("template", "template"), "The answer");
  assert.match(await liveTextOf("first", "learnt"), /secret/);
  assert.equal(await liveTextOf("second", "learnt"), "The answer");
  // A plain answer shows that the model has another template, or none.
  server.answer({ chunks: textChunks("plain") });
  await lab.command("learnt", { runId: "plain", input: "x" });
  await lab.eventsUntil("plain", "finished");
  assert.match(await liveTextOf("third", "learnt"), /secret/);
});

test("half of a character in an input, a stream, arguments or a result ends no run, and none that follows in its session", async () => {
  services.tools.set("say", () => `emoji \ud83d${"😀".repeat(40_000)}`);
  services.agents.set(
    "talker",
    agent("talker", { model: "local/m", contextWindow: 4_096, tools: [labTool("say")] }),
  );
  const args = String.raw`{"text":"\ud83d","a\udc00":1}`;
  const say = toolCallChunks({ id: "call_1", name: labTool("say"), args });
  server.answer(
    { chunks: say },
    { chunks: textChunks("a \ud83d", "\ude00 b", " \ud83d") },
    { chunks: textChunks("again") },
  );
  const before = server.requests.length;
  const start = (runId: string) =>
    lab.publish(
      "yard.cmd.cli.run.start.talker",
      String.raw`{"runId":"${runId}","session":"halves","input":"hi \ud83d"}`,
    );
  await start("halves-1");
  const events = await lab.eventsUntil("halves-1", "finished");
  assert.equal(events.at(-1)?.payload["output"], "a 😀 b \ufffd");
  await start("halves-2");
  const more = await lab.eventsUntil("halves-2", "finished");
  assert.equal(more.at(-1)?.payload["output"], "again");
  assert.equal(server.requests.length - before, 3, "none was refused and made again");
  assert.doesNotMatch(JSON.stringify([events, more]), /\\ud[89a-f]/);
});

test("a journal of an older version that has half of a character is repaired when it is read", async () => {
  const ask = { id: "q", name: "ask_user", args: '{"question":"which?"}' };
  server.answer({ chunks: toolCallChunks(ask) }, { chunks: textChunks("done") });
  await lab.command("odd", { runId: "old-journal", input: "hi HALF" });
  await lab.eventsUntil("old-journal", "waiting");
  const key = journalKey("cli~old-journal");
  const [first = ""] = await redis.lrange(key, 0, 0);
  await redis.lset(key, 0, first.replaceAll("HALF", String.raw`\ud83d`));
  const answer = { runId: "old-journal", callId: "cli~old-journal:1:0", answer: "this" };
  await call(lab.bus, answerQuestion, answer);
  const events = await lab.eventsUntil("old-journal", "finished");
  assert.equal(events.at(-1)?.payload["output"], "done");
});

/** Returns the usage of a run whose model gives these answers. */
async function usageOf(
  runId: string,
  answers: Parameters<typeof server.answer>,
  limits: Record<string, number> = {},
) {
  server.answer(...answers);
  await lab.command("odd", { runId, input: "x", limits });
  await lab.eventsUntil(runId, ({ name }) => ["finished", "failed"].includes(name));
  return (await call(lab.bus, getRun, { runId })).run;
}

test("comments of a stream show that its provider works, for longer than it may be silent", async () => {
  const late = Promise.withResolvers<void>();
  server.answer({ chunks: textChunks("slow"), from: late.promise, commentEveryMs: 300 });
  await lab.command("odd", { runId: "comments", input: "x" });
  setTimeout(() => late.resolve(), 5_000);
  const before = server.requests.length;
  const events = await lab.eventsUntil("comments", "finished");
  assert.equal(events.at(-1)?.payload["output"], "slow");
  assert.ok(server.requests.length - before <= 1, "it was called once");
});

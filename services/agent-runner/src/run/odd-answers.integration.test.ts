import { call } from "@switchyard/bus/call";
import { subscribeLive } from "@switchyard/bus/events";
import { runLive } from "@switchyard/contracts/run-events";
import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import { answerQuestion } from "@switchyard/contracts/run-waits";
import { getRecording } from "@switchyard/contracts/run-recordings";
import { getRun } from "@switchyard/contracts/runs";
import { testDirectory } from "@switchyard/local-servers/test-servers";
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
import { startModelServer } from "../../test-fixtures/model-server.ts";
import { startLab } from "../../test-fixtures/runner-lab.ts";
import { journalKey } from "../journal/run-keys.ts";

const directory = await testDirectory();
const lab = await startLab();
const { services } = lab;
const server = await startChatServer();
const models = join(directory, "models.json");
const local = { type: "openai-compatible", baseURL: server.baseURL };
const families = await startModelServer();
const family = (type: string, path: string) => ({
  type,
  baseURL: families.url + path,
  apiKeyEnv: "FAMILY_KEY",
});
/** A model of each provider family; the strictness of each is in `strict-body.ts`. */
const FAMILIES = {
  chat: "kimi/k2",
  mistral: "mistral/mistral-large",
  deepseek: "deepseek/deepseek-reasoner",
  responses: "openai/gpt-5",
  anthropic: "anthropic/claude",
  gemini: "google/gemini-3-pro",
} as const;
await writeFile(
  models,
  JSON.stringify({
    default: "local/m",
    providers: {
      local,
      kimi: family("openai-compatible", "/v1"),
      mistral: family("openai-compatible", "/v1"),
      deepseek: family("openai-compatible", "/v1"),
      openai: family("openai", "/v1"),
      anthropic: family("anthropic", "/v1"),
      google: family("google", "/v1beta"),
    },
    models: {
      "local/thinks": { startsInReasoning: true },
      ...Object.fromEntries(
        Object.values(FAMILIES).map((name) => [
          `kimi/before-${name.split("/")[0]}`,
          { fallbacks: [name] },
        ]),
      ),
    },
  }),
);
await lab.runner({
  YARD_MODELS_FILE: models,
  FAMILY_KEY: "key",
  YARD_MODEL_IDLE_TIMEOUT_MS: "1000",
});
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

type FamilyAnswers = Parameters<typeof families.answer>;
const WIPE = { id: "functions.mcp__lab__wipe:0", name: labTool("wipe"), args: "{}" };
const LONG_ID = { ...WIPE, id: `call_${"x".repeat(90)}` };
const QUOTA = {
  status: 429,
  message: "You exceeded your quota",
  more: { code: "insufficient_quota" },
};
const OK = { text: ["42"] };
const SAID = "Here is the full answer: 42.";

/** Quirks of providers, one whole run each: the model, its answers, and the outcome of the run. */
const QUIRKS: readonly {
  readonly what: string;
  readonly model: string;
  readonly answers: FamilyAnswers;
  /** The run's answer, or the code that it fails with. */
  readonly ends: { readonly output: string } | { readonly code: string };
  /** Missing: one more than usual, from a provider whose requirement the runner has not learned yet. */
  readonly requests?: number | undefined;
}[] = [
  ...Object.values(FAMILIES).flatMap((name) =>
    [WIPE, LONG_ID].map((made, index) => ({
      what: `a call id of another provider, ${["foreign", "long"][index]}, at the fallback ${name}`,
      model: `kimi/before-${name.split("/")[0]}`,
      answers: [{ calls: [made], reasoning: "secret thought" }, QUOTA, OK],
      ends: { output: "42" },
      requests: name === FAMILIES.deepseek ? undefined : 3,
    })),
  ),
  ...[
    { model: FAMILIES.chat, bad: { text: [""] }, code: "empty_answer" },
    { model: FAMILIES.anthropic, bad: {}, code: "empty_answer" },
    { model: FAMILIES.chat, bad: { reasoning: "hm" }, code: "reasoning_only" },
    { model: FAMILIES.responses, bad: { reasoning: "hm" }, code: "reasoning_only" },
    { model: FAMILIES.chat, bad: { finish: "tool_calls" }, code: "missing_calls" },
    { model: FAMILIES.anthropic, bad: { finish: "tool_use" }, code: "missing_calls" },
    { model: FAMILIES.chat, bad: { calls: [{ ...WIPE, name: "" }] }, code: "malformed_call" },
    { model: FAMILIES.gemini, bad: { finish: "MALFORMED_FUNCTION_CALL" }, code: "malformed_call" },
    {
      model: FAMILIES.chat,
      bad: { text: ["par"], finish: "content_filter" },
      code: "content_filter",
    },
    { model: FAMILIES.gemini, bad: { finish: "SAFETY" }, code: "content_filter" },
  ].flatMap(({ model, bad, code }) => [
    {
      what: `${code} once at ${model}`,
      model,
      answers: [bad, OK],
      ends: { output: "42" },
      requests: 2,
    },
    { what: `${code} twice at ${model}`, model, answers: [bad, bad], ends: { code }, requests: 2 },
  ]),
  {
    what: "an empty answer after the whole answer beside the last call",
    model: FAMILIES.chat,
    answers: [{ text: [SAID], calls: [WIPE] }, {}, {}],
    ends: { output: SAID },
    requests: 3,
  },
  {
    what: "two empty answers before a fallback that has one",
    model: "kimi/before-anthropic",
    answers: [{}, {}, OK],
    ends: { output: "42" },
    requests: 3,
  },
  {
    what: "reasoning that DeepSeek requires with each answer, also with one that has none",
    model: FAMILIES.deepseek,
    answers: [{ reasoning: "hm", calls: [WIPE] }, { calls: [WIPE] }, OK],
    ends: { output: "42" },
    requests: 3,
  },
  {
    what: "reasoning that OpenAI sealed and that is not stored there",
    model: FAMILIES.responses,
    answers: [{ reasoning: "hm", calls: [WIPE] }, OK],
    ends: { output: "42" },
    requests: 2,
  },
  {
    what: "a login page in place of a stream",
    model: FAMILIES.chat,
    answers: [{ contentType: "text/html", text: "<!doctype html><title>Sign in</title>" }],
    ends: { code: "provider_misconfigured" },
    requests: 1,
  },
  {
    what: "JSON in place of a stream",
    model: FAMILIES.anthropic,
    answers: [{ contentType: "application/json", text: '{"id":"msg_1","content":[]}' }],
    ends: { code: "provider_misconfigured" },
    requests: 1,
  },
  {
    what: "a quota that is used up",
    model: FAMILIES.chat,
    answers: [QUOTA],
    ends: { code: "quota_exceeded" },
    requests: 1,
  },
  {
    what: "a conversation that is larger than a window that is not configured",
    model: FAMILIES.anthropic,
    answers: [
      { calls: [WIPE] },
      { calls: [WIPE] },
      { status: 400, message: "prompt is too long: 9000 tokens > 8000 maximum" },
      { text: ["a summary"] },
      OK,
    ],
    ends: { output: "42" },
    requests: 5,
  },
  {
    what: "a message that is larger than the window",
    model: FAMILIES.gemini,
    answers: [1, 2].map(() => ({ status: 400, message: "exceeds the maximum number of tokens" })),
    ends: { code: "context_too_long" },
    requests: 2,
  },
];

for (const [index, { what, model, answers, ends, requests }] of QUIRKS.entries())
  test(`a run survives a provider's quirk, or fails with its code: ${what}`, async () => {
    const name = `quirk-${index}`;
    services.agents.set(name, agent(name, { model, tools: [labTool("wipe")] }));
    const before = families.requests.length;
    families.answer(...answers);
    await lab.command(name, { runId: name, input: "x".repeat(6_000) });
    const events = await lab.eventsUntil(
      name,
      ({ name: kind }) => kind === "finished" || kind === "failed",
    );
    const end = events.at(-1)?.payload;
    const failure = end?.["failure"] as { readonly code: string } | undefined; // of a failed run
    assert.deepEqual(
      "code" in ends ? { code: failure?.code } : { output: end?.["output"] },
      ends,
      JSON.stringify(end),
    );
    const sent = families.requests.slice(before);
    if (requests !== undefined) assert.equal(sent.length, requests);
    if (model.startsWith("kimi/before-") && model !== "kimi/before-kimi")
      assert.doesNotMatch(JSON.stringify(sent.at(-1)?.body), /secret thought/);
  });

test("comments of a stream show that its provider works, for longer than it may be silent", async () => {
  const late = Promise.withResolvers<void>();
  server.answer({ chunks: textChunks("slow"), from: late.promise, commentEveryMs: 300 });
  await lab.command("odd", { runId: "comments", input: "x" });
  setTimeout(() => late.resolve(), 2_000);
  const before = server.requests.length;
  const events = await lab.eventsUntil("comments", "finished");
  assert.equal(events.at(-1)?.payload["output"], "slow");
  assert.ok(server.requests.length - before <= 1, "it was called once");
});

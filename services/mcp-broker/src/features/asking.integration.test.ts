import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { inspect } from "node:util";
import { call } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { connectBus } from "@switchyard/bus/connect";
import { readEvents } from "@switchyard/bus/events";
import { serve } from "@switchyard/bus/serve";
import { isError } from "@switchyard/contracts/errors";
import { callTool } from "@switchyard/contracts/mcp-broker/mcp";
import { cancelCall } from "@switchyard/contracts/mcp-broker/mcp-calls";
import {
  answerQuestion,
  listQuestions,
  questionEnded,
  questionRequested,
  type Question,
} from "@switchyard/contracts/mcp-broker/mcp-questions";
import { completeModel } from "@switchyard/contracts/agent-runner/model-completion";
import { until } from "@switchyard/local-servers/until";
import { startProgram } from "../../test-fixtures/session-world.ts";
import { fixture, packageFile, testWorld } from "../../test-fixtures/test-broker.ts";
import { twoEraServer } from "../../test-fixtures/two-era-server.ts";
import { ASKED_PER_MINUTE } from "./feature-hooks.ts";
import { createQuestionStore } from "../server-requests/question-store.ts";

const world = await testWorld();
const asking = await startProgram([fixture("asking-server.ts")]);
const two = await twoEraServer();
const everything = packageFile("@modelcontextprotocol/server-everything/dist/index.js");
const broker = await world.startBroker({
  servers: [
    {
      id: "everything",
      command: process.execPath,
      args: [everything, "stdio"],
      roots: ["/srv/own"],
    },
    { id: "asking", url: asking.url("/mcp"), sampling: { maxTokens: 100, perMinute: 3 } },
    { id: "two", url: two.url },
  ],
  env: { YARD_WORKSPACE: "/srv/work space" },
});
for (const id of ["everything", "asking", "two"])
  await broker.until(id, ({ status }) => status === "connected");

const [team, runner] = await Promise.all(
  ["team-a", "runner"].map((user) => connectBus({ servers: world.natsUrl, user })),
);
if (team === undefined || runner === undefined)
  throw new Error("unreachable: two users, two buses");
after(() => Promise.all([team.close(), runner.close()]));
const models = serve(runner, {
  name: "runner",
  version: "0.0.0",
  description: "test",
  onFault: () => undefined,
});
const sampled: number[] = [];
models.handle(completeModel, ({ maxTokens }) => {
  sampled.push(maxTokens);
  const usage = { inputTokens: 1, outputTokens: 1 };
  return { model: "local/small", text: "Good day.", stopReason: "endTurn" as const, usage };
});
await runner.flush();

beforeEach(() => {
  world.policy.answer = () => "allow";
});

const questions = async (bus: Bus = world.cli, pendingOnly = true): Promise<Question[]> =>
  (await call(bus, listQuestions, { pendingOnly })).questions;
const asked = async (bus: Bus = world.cli, count = 1): Promise<Question[]> =>
  until(
    () => questions(bus),
    (found) => found.length === count,
  );
const callAs = (bus: Bus, tool: string, args = {}, timeoutMs = 30_000) =>
  call(bus, callTool, { tool, args }, { tokens: { server: "asking" }, timeoutMs });

test("a server whose tools prompt in the way of earlier revisions is connected with one by every broker, after one call that reports it", async () => {
  const other = await world.startBroker({
    servers: [{ id: "two", url: two.url }],
    ownership: { instance: "other" },
  });
  await other.until("two", ({ status }) => status === "connected");
  assert.equal(broker.info("two").protocolVersion, "2026-07-28");
  const callTwo = (tool: string) => broker.call("two", { tool, args: {} });
  const waiting = Array.from({ length: 4 }, () => callTwo("wait"));
  await until(() => two.begun.wait === waiting.length);
  const colour = "blue";
  const answered = asked().then(([question]) => {
    const answer = { id: question?.id ?? "", action: "accept" as const, content: { colour } };
    return call(world.cli, answerQuestion, answer);
  });
  const ask = (): Promise<string | null> =>
    callTwo("ask").then(
      ({ text }) => text,
      (error: unknown) => {
        // With sessions one broker owns the server; the other one refuses a call before it is sent.
        if (isError(error, callTool, "not_owner")) return null;
        assert.ok(isError(error, callTool, "tool_failed"), String(error));
        assert.match(error.data.reason, /the same call works when it is made again/);
        return null;
      },
    );
  assert.equal(await ask(), null, "the first call is not made again by itself");
  // Either broker may answer, and the other one still had a session of 2026-07-28 when the first call failed.
  assert.equal(await until(ask), colour);
  for (const each of [broker, other])
    await each.until("two", ({ protocolVersion }) => protocolVersion !== "2026-07-28");
  await answered;
  two.release();
  // Requests of the sessions before are not cut.
  for (const { text } of await Promise.all(waiting)) assert.equal(text, "waited");
  assert.deepEqual(two.begun, { ask: 2, wait: waiting.length });
});

test("a question of a server over stdio waits for a fitting answer, once, and the server gets it", async () => {
  const calling = broker.call("everything", { tool: "trigger-elicitation-request", args: {} });
  const [question] = await asked();
  assert.ok(question !== undefined && question.mode === "form");
  assert.deepEqual(question.askedFor, [{ user: "cli", agent: null, runId: null }]);
  assert.deepEqual(question.form?.required, ["name"]);

  const { id } = question;
  const content = { name: "Ada Lovelace", integer: 500 };
  const wrong = await call(world.cli, answerQuestion, { id, action: "accept", content }).catch(
    (error: unknown) => error,
  );
  assert.ok(isError(wrong, answerQuestion, "invalid_content"), String(wrong));
  assert.deepEqual(wrong.data.problems, [
    "integer must be a whole number (at least 1, at most 100)",
  ]);

  const right = { id, action: "accept", content: { name: "Ada Lovelace", check: true } } as const;
  const answered = await call(world.cli, answerQuestion, right);
  assert.equal(answered.question.state, "accepted");
  assert.match((await calling).text, /Name: Ada Lovelace/);
  const again = await call(world.cli, answerQuestion, right).catch((error: unknown) => error);
  assert.ok(isError(again, answerQuestion, "already_ended"), String(again));

  const stored = await until(
    async () => JSON.stringify(await world.redis.hgetall("yard:{mcp:questions}:records")),
    (text) => !text.includes("Lovelace"),
  );
  assert.match(stored, /accepted/);
  const events: unknown[] = [];
  const filters = ["yard.evt.mcp-question.>"];
  for await (const { contract, payload } of readEvents(world.cli, { filters, from: "beginning" })) {
    if (contract === questionRequested || contract === questionEnded) events.push(payload);
    if (contract === questionEnded) break;
  }
  assert.equal(events.length, 2);
  assert.equal(JSON.stringify(events).includes("Lovelace"), false);
});

test("a person may decline, and may be prompted to open an address", async () => {
  const args = { url: "https://example.com/login", message: "Log in" };
  const calling = broker.call("everything", { tool: "trigger-url-elicitation", args });
  const [question] = await asked();
  assert.deepEqual([question?.mode, question?.url], ["url", args.url]);
  await call(world.cli, answerQuestion, { id: question?.id ?? "", action: "decline" });
  assert.match((await calling).text, /decline/);
});

test("a question that the policy denies is declined or refused, and reaches no person", async () => {
  world.policy.answer = (_tool, { kind }) => (kind === "tool" ? "allow" : "deny");
  const elicited = await broker.call("everything", {
    tool: "trigger-elicitation-request",
    args: {},
  });
  assert.match(elicited.text, /declined to provide/);
  const args = { prompt: "hello", maxTokens: 10 };
  const before = sampled.length;
  const refused = await broker.call("everything", { tool: "trigger-sampling-request", args });
  assert.equal(refused.isError, true);
  assert.match(refused.text, /sampling refused: the policy does not allow it/);
  assert.deepEqual([await questions(), sampled.length], [[], before]);
});

test("an allowed sampling is one answer of the model, with the tokens cut to the server's limit", async () => {
  const args = { prompt: "hello", maxTokens: 9_999 };
  const reply = await broker.call("everything", { tool: "trigger-sampling-request", args });
  assert.match(reply.text, /Good day\./);
  assert.equal(sampled.at(-1), 1_024);
});

test("a server receives its own roots, or else the broker's workspace", async () => {
  const reply = await broker.call("everything", { tool: "get-roots-list", args: {} });
  assert.match(reply.text, /file:\/\/\/srv\/own/);
});

test("an input_required answer of 2026-07-28 is continued with an answer to each of its requests", async () => {
  const calling = callAs(world.cli, "everything");
  const [question] = await asked();
  const content = { name: "Ada" };
  await call(world.cli, answerQuestion, { id: question?.id ?? "", action: "accept", content });
  const { person, model, roots } = JSON.parse((await calling).text);
  assert.deepEqual(person, { action: "accept", content });
  assert.equal(model.content.text, "Good day.");
  assert.equal(roots.roots[0].uri, "file:///srv/work%20space");
});

test("each of two callers gets the questions asked on its behalf, and neither sees the other's", async () => {
  const calls = [callAs(world.cli, "greet"), callAs(team, "greet")];
  // The test's own user is an admin and sees both; the team sees its own.
  const both = await asked(world.cli, 2);
  const [own, ...others] = await asked(team, 1);
  assert.deepEqual([own?.askedFor[0]?.user, others], ["team-a", []]);
  const foreign = both.find(({ id }) => id !== own?.id);
  const action = "decline" as const;
  const refused = await call(team, answerQuestion, { id: foreign?.id ?? "", action }).catch(
    (error: unknown) => error,
  );
  assert.ok(isError(refused, answerQuestion, "unknown_question"), String(refused));
  for (const { id } of both) {
    const content = { name: id === own?.id ? "Team" : "Person" };
    await call(world.cli, answerQuestion, { id, action: "accept", content });
  }
  const texts = (await Promise.all(calls)).map(({ text }) => text);
  assert.deepEqual(texts, ['{"name":"Person"}', '{"name":"Team"}']);
});

test("a flood of questions is cut to a few, and a flood of samplings to the server's rate", async () => {
  const calling = callAs(world.cli, "flood", { count: 30 });
  const open = await asked(world.cli, 8);
  // A question to another user waits meanwhile.
  const theirs = callAs(team, "greet");
  const [question] = await asked(team);
  await call(team, answerQuestion, { id: question?.id ?? "", action: "decline" });
  await theirs;
  for (const { id } of open) await call(world.cli, answerQuestion, { id, action: "decline" });
  const answers: { action: string }[] = Object.values(JSON.parse((await calling).text));
  const count = (action: string): number => answers.filter((each) => each.action === action).length;
  assert.deepEqual([count("decline"), count("cancel")], [8, 22]);

  const ends: unknown[] = [];
  for (let index = 0; index < 4; index += 1)
    ends.push(await callAs(world.cli, "sample", { maxTokens: 5 }).catch((error: unknown) => error));
  assert.match(inspect(ends.at(-1)), /more than 3 samplings a minute/);
});

test("a question is lost when its call ends, and when the broker that waits is gone", async () => {
  const tokens = { server: "asking" };
  const callId = "lost-1";
  const calling = call(world.cli, callTool, { tool: "greet", args: {}, callId }, { tokens }).catch(
    (error: unknown) => error,
  );
  const [question] = await asked();
  assert.ok(question !== undefined);
  await call(world.cli, cancelCall, { callId }, { tokens });
  assert.ok(isError(await calling, callTool, "cancelled"));
  const ended = await until(
    async () => (await questions(world.cli, false)).find(({ id }) => id === question.id),
    (found) => found?.state !== "pending",
  );
  assert.equal(ended?.state, "lost");

  const orphan = { ...question, id: "q-0123456789abcdef" };
  const store = createQuestionStore(world.redis);
  await store.add({ question: orphan, holder: "a-broker-that-was-killed" });
  // No client lists the questions: a subscriber to the events receives the end all the same.
  const filters = ["yard.evt.mcp-question.*.*.ended"];
  for await (const { payload } of readEvents(world.cli, { filters, from: "beginning" })) {
    const reported = questionEnded.payload.parse(payload).question;
    if (reported.id === orphan.id) {
      assert.equal(reported.state, "lost");
      break;
    }
  }
  const shown = await questions(world.cli, false);
  assert.equal(shown.find(({ id }) => id === orphan.id)?.state, "lost");
});

test("a server that sends requests endlessly costs the policy a few decisions a minute", async () => {
  const before = world.policy.checked.length;
  world.policy.answer = (_, { kind }) => (kind === "elicitation" ? "deny" : "allow");
  const { text } = await callAs(world.cli, "flood", { count: 400 });
  const answers: { action: string }[] = Object.values(JSON.parse(text));
  assert.equal(answers.length, 400);
  assert.ok(answers.every(({ action }) => action !== "accept"));
  assert.ok(world.policy.checked.length - before <= ASKED_PER_MINUTE + 3 + 1);
});

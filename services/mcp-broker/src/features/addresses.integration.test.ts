import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { call } from "@switchyard/bus/call";
import { isError } from "@switchyard/contracts/errors";
import { callTool } from "@switchyard/contracts/mcp-broker/mcp";
import { getServer, updateServer } from "@switchyard/contracts/mcp-broker/mcp-servers";
import { getPrompt, readResource } from "@switchyard/contracts/mcp-broker/mcp-features";
import {
  answerQuestion,
  listQuestions,
  type Question,
} from "@switchyard/contracts/mcp-broker/mcp-questions";
import { until } from "@switchyard/local-servers/until";
import { fixtureServer, packageFile, testWorld } from "../../test-fixtures/test-broker.ts";

const world = await testWorld();
const everything = {
  command: process.execPath,
  args: [packageFile("@modelcontextprotocol/server-everything/dist/index.js"), "stdio"],
};
const CALL_TIMEOUT_MS = 2_500;
const broker = await world.startBroker({
  servers: [
    { id: "everything", ...everything, roots: ["/srv/first"] },
    { id: "hasty", ...everything, callTimeoutMs: CALL_TIMEOUT_MS },
    fixtureServer("eliciting", ["eliciting-server.ts"]),
  ],
});
for (const id of ["everything", "hasty", "eliciting"])
  await broker.until(id, ({ status }) => status === "connected");

beforeEach(() => {
  world.policy.answer = () => "allow";
});

const questions = async (pendingOnly = true): Promise<Question[]> =>
  (await call(world.cli, listQuestions, { pendingOnly })).questions;
const oneQuestion = async (): Promise<Question> => {
  const [question] = await until(questions, ({ length }) => length === 1);
  assert.ok(question !== undefined);
  return question;
};
const accept = (id: string, content?: Record<string, string>) =>
  call(world.cli, answerQuestion, { id, action: "accept", ...(content && { content }) });

async function pendingQuestion(calling: Promise<unknown>): Promise<string> {
  const error: unknown = await calling.catch((caught: unknown) => caught);
  assert.ok(isError(error, callTool, "question_pending"), String(error));
  const [id = "", ...others] = error.data.questionIds;
  assert.deepEqual(others, []);
  assert.ok(error.message.includes(id));
  return id;
}

test("the time that a person takes for an answer is not the server's, and opens no circuit", async () => {
  const calls = Array.from({ length: 6 }, () =>
    broker.call("hasty", { tool: "trigger-elicitation-request", args: {} }),
  );
  const open = await until(questions, ({ length }) => length === calls.length);
  const long = performance.now() + 1.5 * CALL_TIMEOUT_MS;
  await until(
    () => performance.now(),
    (now) => now > long,
  );
  for (const { id } of open) await accept(id, { name: "Ada Lovelace" });
  for (const { text } of await Promise.all(calls)) assert.match(text, /Name: Ada Lovelace/);
  assert.equal(broker.info("hasty").circuit, "closed");
  const slow = broker.call("hasty", {
    tool: "trigger-long-running-operation",
    args: { duration: 5, steps: 1 },
  });
  await assert.rejects(
    slow,
    (error) => isError(error, callTool, "tool_timeout") && error.data.timeoutMs === CALL_TIMEOUT_MS,
  );
});

test("an address that has to be opened before a call is a question, the call was not made, and may be sent again", async () => {
  const request = {
    tool: "trigger-url-elicitation",
    args: { url: "https://example.com/login", message: "Log in", errorPath: true },
    callId: "opened-first",
  };
  const id = await pendingQuestion(broker.call("everything", request));
  const question = await oneQuestion();
  assert.equal(question.id, id);
  assert.deepEqual(
    [question.mode, question.url, question.askedFor],
    ["url", "https://modelcontextprotocol.io", [{ user: "cli", agent: null, runId: null }]],
  );
  await accept(id);
  assert.deepEqual(await questions(), []);
  const again = broker.call("everything", request);
  await accept((await oneQuestion()).id);
  const reply = await again;
  assert.equal(reply.replayed, false);
  assert.match(reply.text, /completed the URL elicitation/);
});

test("a server that reports an interaction as complete ends its question, before a call and in one", async () => {
  const needs = { tool: "needs", args: { id: "e-1" }, callId: "needs-1" };
  const id = await pendingQuestion(broker.call("eliciting", needs));
  await broker.call("eliciting", { tool: "finish", args: { id: "another" } });
  assert.equal((await oneQuestion()).id, id);
  await broker.call("eliciting", { tool: "finish", args: { id: "e-1" } });
  const ended = await until(
    async () => (await questions(false)).find((each) => each.id === id),
    (found) => found?.state !== "pending",
  );
  assert.deepEqual([ended?.state, ended?.answeredBy], ["accepted", null]);
  assert.equal((await broker.call("eliciting", needs)).text, "made");

  const asks = broker.call("eliciting", { tool: "asks", args: { id: "e-2" } });
  await oneQuestion();
  await broker.call("eliciting", { tool: "finish", args: { id: "e-2" } });
  assert.equal((await asks).text, "accept");
});

test("an invalid address, or one that the policy refuses, is the server's refusal and no question", async () => {
  const failed = (error: unknown): boolean => isError(error, callTool, "tool_failed");
  await assert.rejects(broker.call("eliciting", { tool: "odd", args: { id: "e-3" } }), failed);
  world.policy.answer = (_tool, { kind }) => (kind === "tool" ? "allow" : "deny");
  await assert.rejects(broker.call("eliciting", { tool: "needs", args: { id: "e-4" } }), failed);
  assert.deepEqual(await questions(), []);
});

test("a connected server is notified of changed roots, stays connected and requests them", async () => {
  const roots = async () =>
    (await broker.call("everything", { tool: "get-roots-list", args: {} })).text;
  assert.match(await roots(), /file:\/\/\/srv\/first/);
  const { connectedAt } = broker.info("everything");
  const change = (changes: Record<string, unknown>) =>
    call(world.cli, updateServer, { server: "everything", changes });
  const { server } = await change({ roots: ["/srv/second"] });
  assert.deepEqual([server.status, server.connectedAt], ["connected", connectedAt]);
  const text = await until(roots, (list) => /file:\/\/\/srv\/second/.test(list));
  assert.doesNotMatch(text, /first/);
  assert.equal(broker.info("everything").connectedAt, connectedAt);
  const { declaration } = await call(world.cli, getServer, { server: "everything" });
  assert.deepEqual(declaration["roots"], ["/srv/second"]);

  // A change of any other field of the connection as well connects the server anew.
  await change({ roots: ["/srv/third"], env: { OTHER: "1" } });
  await broker.until("everything", (info) => info.connectedAt !== connectedAt);
  await broker.until("everything", ({ status }) => status === "connected");
  assert.match(await roots(), /file:\/\/\/srv\/third/);
});

test("a resource and a prompt can want an address opened first, too", async () => {
  const tokens = { server: "eliciting" };
  const asks = {
    "e-5": () => call(world.cli, readResource, { uri: "demo://e-5" }, { tokens }),
    "e-6": () => call(world.cli, getPrompt, { name: "e-6" }, { tokens }),
  };
  for (const [id, ask] of Object.entries(asks)) {
    const error: unknown = await ask().catch((caught: unknown) => caught);
    assert.ok(isError(error, readResource, "question_pending"), String(error));
    const question = await oneQuestion();
    assert.deepEqual(error.data.questionIds, [question.id]);
    assert.equal(question.url, `https://example.com/${id}`);
    await broker.call("eliciting", { tool: "finish", args: { id } });
    await until(questions, ({ length }) => length === 0);
    assert.match(JSON.stringify(await ask()), /"(read|got)"/);
  }
});

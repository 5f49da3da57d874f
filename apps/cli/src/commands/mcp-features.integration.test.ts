import assert from "node:assert/strict";
import { test } from "node:test";
import { publishEvent } from "@switchyard/bus/publish";
import { serve } from "@switchyard/bus/serve";
import { ensureStreams } from "@switchyard/bus/streams";
import { testBus } from "@switchyard/testing/test-bus";
import * as features from "@switchyard/contracts/mcp-broker/mcp-features";
import * as questions from "@switchyard/contracts/mcp-broker/mcp-questions";
import { testDirectory, testNats } from "@switchyard/testing/test-servers";
import { yard, yardEnvironment } from "../../test-fixtures/yard-process.ts";

const directory = await testDirectory();
const nats = await testNats();
const env = { ...yardEnvironment(directory), YARD_NATS_URL: nats.url };
const bus = await testBus(nats, "broker");
await ensureStreams(bus);

const decision = {
  effect: "allow" as const,
  rule: "all",
  reason: "rule all allows it",
  policyDigest: `sha256:${"0".repeat(64)}`,
};
const question: questions.Question = {
  id: "q-0123456789abcdef",
  server: "docs",
  state: "pending",
  mode: "form",
  message: "Who are you?\u001b[31m",
  form: {
    fields: {
      name: { type: "string" },
      age: { type: "integer", minimum: 1 },
      pet: { type: "string", oneOf: [{ const: "c", title: "Cat" }, { const: "dog" }] },
      days: { type: "array", items: { enum: ["Mo", "Tu"] } },
    },
    required: ["name"],
  },
  url: null,
  askedFor: [{ user: "cli", agent: null, runId: null }],
  askedAt: "2026-01-01T00:00:00.000Z",
  expiresAt: "2026-01-01T00:10:00.000Z",
  endedAt: null,
  answeredBy: null,
};
const asked: unknown[] = [];
const subscriptions = new Map<string, NodeJS.Timeout>();

const service = serve(bus, {
  name: "broker",
  version: "0.0.0",
  description: "Features that are remembered",
  onFault: ({ error }) => assert.fail(String(error)),
});
service.handle(features.listResources, () => ({
  resources: [{ uri: "file:///a.md", name: "a", mimeType: "text/markdown" }],
  more: true,
}));
service.handle(features.listResourceTemplates, () => ({
  templates: [{ uriTemplate: "file:///{name}", name: "any" }],
  more: false,
}));
service.handle(features.readResource, ({ uri }, { fail }) => {
  if (uri === "file:///secret") throw fail.denied("The policy denies it: no", decision);
  return {
    contents: [
      { uri, text: "hello" },
      { uri, blob: "aGVsbG8=" },
    ],
    decision,
  };
});
service.handle(features.subscribeResource, ({ uri }) => {
  // Published repeatedly, because the reading of the events begins a moment later.
  const timer = setInterval(() => {
    for (const changed of ["file:///of-somebody-else.md", "file:///a.md"]) {
      const payload = { server: "docs", uri: changed, at: new Date().toISOString() };
      void publishEvent(bus, features.resourceUpdated, { server: "docs" }, payload);
    }
  }, 50);
  subscriptions.set(uri, timer);
  return { expiresAt: "2026-01-01T01:00:00.000Z" };
});
service.handle(features.unsubscribeResource, ({ uri }) => {
  clearInterval(subscriptions.get(uri));
  subscriptions.delete(uri);
  return { subscribed: false as const };
});
service.handle(features.listPrompts, () => ({
  prompts: [{ name: "review", arguments: [{ name: "pr", required: true }] }],
  more: false,
}));
service.handle(features.getPrompt, (request) => {
  asked.push(request);
  return {
    description: null,
    messages: [{ role: "user" as const, content: { type: "text", text: "Review it." } }],
    decision,
  };
});
service.handle(questions.listQuestions, () => ({ questions: [question] }));
service.handle(questions.answerQuestion, (request, { fail }) => {
  asked.push(request);
  if (request.content?.["name"] === "")
    throw fail.invalid_content("name is required", { problems: ["name is required"] });
  return { question: { ...question, state: "accepted" as const } };
});
await bus.flush();

test("yard mcp resources lists, reads and reports what is denied", async () => {
  const listed = await yard(["mcp", "resources", "list", "docs"], env);
  assert.match(listed.stdout, /file:\/\/\/a\.md +a +text\/markdown/);
  assert.match(listed.stderr, /more resources/);
  const templates = await yard(["mcp", "resources", "templates", "docs"], env);
  assert.match(templates.stdout, /file:\/\/\/\{name\}/);
  const read = await yard(["mcp", "resources", "read", "docs", "file:///a.md"], env);
  assert.match(read.stdout, /^hello\n\[file:\/\/\/a\.md: no type, 5 B/);
  const denied = await yard(["mcp", "resources", "read", "docs", "file:///secret"], env);
  assert.deepEqual([denied.code, denied.stdout], [4, ""]);
});

test("yard mcp resources subscribe shows changes and ends its subscription", async () => {
  const args = ["mcp", "resources", "subscribe", "docs", "file:///a.md", "--count", "1"];
  const json = await yard([...args, "--json"], env);
  assert.deepEqual([json.code, JSON.parse(json.stdout).uri], [0, "file:///a.md"]);
  const { code, stdout } = await yard(args, env);
  assert.equal(code, 0);
  assert.match(stdout, /^\S+ {2}file:\/\/\/a\.md\n$/);
  assert.equal(subscriptions.size, 0);
});

test("a subscription for a time ends with it and does not become silent", async () => {
  const args = ["mcp", "resources", "subscribe", "docs", "file:///quiet.md", "--ttl", "1"];
  const { code, stdout, stderr } = await yard(args, env);
  assert.deepEqual([code, stdout], [0, ""], stderr);
  assert.match(stderr, /^subscribed until 2026/m);
});

test("yard mcp prompts lists and gets with arguments", async () => {
  const listed = await yard(["mcp", "prompts", "list", "docs"], env);
  assert.match(listed.stdout, /review +pr\*/);
  const got = await yard(["mcp", "prompts", "get", "docs", "review", "--arg", "pr=7"], env);
  assert.match(got.stdout, /user: Review it\./);
  assert.deepEqual(asked.at(-1), { name: "review", args: { pr: "7" } });
});

test("yard mcp questions shows the server's words as its own, and answers once they fit", async () => {
  const listed = await yard(["mcp", "questions", "list"], env);
  assert.match(listed.stdout, /MCP server docs asks \(for cli\):\n {2}│ Who are you\?/);
  assert.equal(listed.stdout.includes("\u001b"), false);
  for (const field of [
    "name*: string",
    "age: integer (at least 1)",
    "pet: one of c (Cat), dog",
    "days: some of Mo, Tu",
  ])
    assert.ok(listed.stdout.includes(`    ${field}\n`), field);
  const answer = (...args: string[]) =>
    yard(["mcp", "questions", "answer", question.id, ...args], env);
  assert.equal((await answer('{"name":"Ada"}')).code, 0);
  assert.deepEqual(asked.at(-1), { id: question.id, action: "accept", content: { name: "Ada" } });
  assert.equal((await answer('{"name":""}')).code, 2);
  assert.equal((await answer("{}", "--decline")).code, 2);
  assert.equal((await answer("not json")).code, 2);
  const unknown = await yard(["mcp", "questions", "answer", "nope", "{}"], env);
  assert.equal(unknown.code, 2);
  assert.match(unknown.stderr, /→ see those that wait with: \.\/yard mcp questions list/);
});

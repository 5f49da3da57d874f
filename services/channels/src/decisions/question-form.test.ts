import assert from "node:assert/strict";
import { test } from "node:test";
import type { ChatQuestion } from "@switchyard/contracts/policy/chat-questions";
import { howToAnswer, questionText } from "./prompt-text.ts";
import { questionForm, replyOfText } from "./question-form.ts";

const until = "2026-12-01T10:00:00.000Z";
const ref = { runId: "ann~1", callId: "1:1:0" };
const run = (more: object = {}) => ({
  run: { ...ref, question: "Which?", options: [], until, agent: "clerk", ...more },
});
const server = (fields: object | null, url: string | null = null) => ({
  server: {
    server: "docs",
    mode: "form" as const,
    message: "Say it",
    form: fields === null ? null : { fields: fields as Record<string, never>, required: [] },
    url,
  },
});
const labels = (form: ReturnType<typeof questionForm>) => form.choices.map(({ label }) => label);

test("options, yes and no and enumerations are buttons; any text, and a number, is a reply", () => {
  const options = questionForm(run({ options: ["red", "blue"] }));
  assert.deepEqual(labels(options), ["red", "blue"]);
  assert.deepEqual(options.choices[1]?.reply, { answer: "blue" });
  assert.deepEqual(labels(questionForm(run({ schema: { type: "boolean" } }))), ["Yes", "No"]);
  const numbers = questionForm(run({ schema: { enum: [1, 2] } }));
  assert.deepEqual(numbers.choices[0], { label: "1", reply: { answer: 1 } });
  const text = questionForm(run());
  assert.deepEqual(replyOfText(" hello ", text.textAs), { answer: "hello" });
  const amount = questionForm(run({ schema: { type: "number" } }));
  assert.deepEqual(replyOfText("12.5", amount.textAs), { answer: 12.5 });
  assert.equal(replyOfText("a dozen", amount.textAs), null);
  const deep = questionForm(run({ schema: { type: "object" } }));
  assert.deepEqual([deep.choices, deep.textAs], [[], null]);
});

test("the form of a server with one field is answered in a chat, a larger one is declined there or answered elsewhere", () => {
  const flag = questionForm(server({ sure: { type: "boolean" } }));
  assert.deepEqual(labels(flag), ["Yes", "No", "Decline"]);
  assert.deepEqual(flag.choices[0]?.reply, { action: "accept", content: { sure: true } });
  const name = questionForm(server({ name: { type: "string" } }));
  assert.deepEqual(labels(name), ["Decline"]);
  assert.deepEqual(replyOfText("Ann", name.textAs), { action: "accept", content: { name: "Ann" } });
  const two = questionForm(server({ a: { type: "string" }, b: { type: "string" } }));
  assert.deepEqual([labels(two), two.textAs], [["Decline"], null]);
  const how = howToAnswer({
    ...two,
    ref: { questionId: "q-12345678" },
    hasLink: false,
    consoleUrl: null,
  });
  assert.equal(how, "To answer: press a button, or answer with yard mcp questions answer");
  assert.deepEqual(labels(questionForm(server(null, "https://a.example"))), ["Done", "Decline"]);
});

test("long options are listed in full behind the question, and what a model wrote is behind all else", () => {
  const long = ["x".repeat(60), "short\u202E"];
  const form = questionForm(run({ options: long }));
  assert.equal(labels(form)[0], `1. ${"x".repeat(36)}…`);
  const question: ChatQuestion = {
    ref,
    binding: `sha256:${"0".repeat(64)}`,
    user: "ann",
    until,
    ...run({ options: long }),
  };
  const { text, argumentsAt } = questionText(
    question,
    { list: form.list, how: "To answer: …" },
    2_000,
  );
  assert.match(text.slice(0, argumentsAt), /^Question: agent clerk asks\nFor: ann\nUntil: /);
  assert.equal(text.slice(argumentsAt), `Which?\n1. ${"x".repeat(60)}\n2. short\\u{202e}`);
  const cut = questionText(
    { ...question, ...run({ question: "y".repeat(9_000) }) },
    { list: [], how: "" },
    2_000,
  );
  assert.ok(cut.text.length <= 1_700 && cut.text.endsWith("… the question is cut"));
});

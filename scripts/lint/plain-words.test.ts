import assert from "node:assert/strict";
import { test } from "node:test";
import type { Expression } from "./text-cuts.ts";
import { assertionOf, commentProblems, textOf, titleOf, wordingProblems } from "./plain-words.ts";

test("avoided turns are named with what to write in their place", () => {
  const avoided = [
    "Nobody works on it any more.",
    "The queue is told nothing.",
    "The runner hears of it.",
    "The service is asked for its tools.",
    "It looks again after a second.",
    "The slot is given back.",
    "It says that nothing was done.",
    "A reader goes on behind it.",
    "The limit may be another one by now.",
  ];
  for (const text of avoided) assert.equal(wordingProblems(text).length, 1, text);
});

test("plain words, code and quotations pass", () => {
  const plain = [
    "The server redelivers after the ack wait.",
    "Retries requests that a service rejected as overloaded.",
    "The reply has `nobody` as its user.",
    'Prints "nobody approved it" when the approval expires.',
    "A policy may ask for approval.",
  ];
  for (const text of plain) assert.deepEqual(commentProblems(text), [], text);
});

test("a comment that is no sentence is a fragment", () => {
  for (const text of [
    "Of the whole service.",
    "What the queue holds.",
    "Who may read it.",
    "By the policy.",
    "For each replica",
    "How long a lease lasts.",
    "Why it ended; null while it lives.",
    "Which rules allow a tool.",
    "The one error class of the bus.",
    "When the lease was renewed.",
    "Where a reading begins, or ends.",
    "When it is due; while one is under way, when the next one is due.",
    "That a file is read does not make it writable.",
  ])
    assert.equal(commentProblems(text).length, 1, text);
  for (const text of [
    "By default the contract's timeout.",
    "For a run that waits, the runner releases its slot.",
    "As soon as the reply arrives, the slot is free.",
    "When a lease ends, another broker claims the server.",
    "Where services run, they also check models.",
    "That is the server's own limit.",
  ])
    assert.deepEqual(commentProblems(text), [], text);
});

const TITLE = { type: "Literal", value: "It goes on." };
const TEST = { type: "Identifier", name: "test" };

test("titles are those of tests, of tests within them and of groups", () => {
  const call = (callee: Expression) => ({ type: "CallExpression", callee, arguments: [TITLE] });
  const member = (object: string, property: string) => ({
    type: "MemberExpression",
    object: { type: "Identifier", name: object },
    property: { type: "Identifier", name: property },
  });
  for (const callee of [
    TEST,
    member("t", "test"),
    member("test", "only"),
    { ...TEST, name: "describe" },
  ])
    assert.equal(titleOf(call(callee)), "It goes on.", JSON.stringify(callee));
  assert.equal(titleOf(call(member("pattern", "exec"))), "");
  assert.equal(titleOf({ type: "CallExpression", callee: TEST, arguments: [] }), "");
});

test("the message of an assertion is its last argument, and not the value before it", () => {
  const call = (name: string, count: number) => ({
    type: "CallExpression",
    callee: {
      type: "MemberExpression",
      object: { type: "Identifier", name: "assert" },
      property: { type: "Identifier", name },
    },
    arguments: Array.from({ length: count }, () => TITLE),
  });
  for (const whole of [call("fail", 1), call("ok", 2), call("equal", 3), call("match", 3)])
    assert.equal(assertionOf(whole), TITLE.value, JSON.stringify(whole.callee));
  for (const bare of [call("ok", 1), call("equal", 2), { type: "CallExpression", callee: TEST }])
    assert.equal(assertionOf(bare), "", JSON.stringify(bare.callee));
});

test("an expression within a template is one word of its text", () => {
  const quasis = ["the run ", " goes on"].map((cooked) => ({ value: { cooked } }));
  const text = textOf({ type: "TemplateLiteral", quasis });
  assert.equal(text, "the run x goes on");
  assert.equal(wordingProblems(text).length, 1);
  assert.equal(textOf({ type: "Identifier", name: "told" }), "");
});

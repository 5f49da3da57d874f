import assert from "node:assert/strict";
import { test } from "node:test";
import { commentProblems, wordingProblems } from "./plain-words.ts";

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

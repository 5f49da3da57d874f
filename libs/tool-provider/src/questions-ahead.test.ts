import assert from "node:assert/strict";
import { test } from "node:test";
import { createQuestionsAhead } from "./questions-ahead.ts";

const kept = { cacheable: { revision: "r1", forMs: 500 } };

test("an equal question waits until the answer is there; another one does not", async () => {
  const ahead = createQuestionsAhead();
  const answer = Promise.withResolvers<typeof kept>();
  const asked = ahead.ask("k", "search", () => answer.promise);
  const waiting = ahead.find("k", "search");
  assert.ok(waiting);
  assert.equal(ahead.find("other", "search"), null);
  let isOver = false;
  const over = waiting.then(() => (isOver = true));
  await Promise.resolve();
  assert.equal(isOver, false);
  answer.resolve(kept);
  assert.equal(await asked, kept);
  assert.equal(await over, true);
  assert.equal(ahead.find("k", "search"), null);
});

test("after an answer that may not be cached, calls of the tool do not wait until one may be again", async () => {
  const ahead = createQuestionsAhead();
  await ahead.ask("k", "search", async () => ({}));
  const second = Promise.withResolvers<typeof kept>();
  const asked = ahead.ask("k", "search", () => second.promise);
  assert.equal(ahead.find("k", "search"), null);
  second.resolve(kept);
  await asked;
  const third = ahead.ask("k", "search", async () => kept);
  assert.ok(ahead.find("k", "search"));
  await third;
});

test("a question that fails ends the waiting for it, and fails for its own caller alone", async () => {
  const ahead = createQuestionsAhead();
  const answer = Promise.withResolvers<typeof kept>();
  const asked = ahead.ask("k", "search", () => answer.promise);
  const refused = assert.rejects(asked, /no answer/);
  const waiting = ahead.find("k", "search");
  answer.reject(new Error("no answer"));
  await waiting;
  await refused;
  assert.equal(ahead.find("k", "search"), null);
});

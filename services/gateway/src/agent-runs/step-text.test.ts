import assert from "node:assert/strict";
import { test } from "node:test";
import { StepText, type TextItem } from "./step-text.ts";

const reported = (items: TextItem[]): string =>
  items.map((item) => (item.kind === "text" ? item.text : "|")).join("");

test("the end of a step adds what live text lacks, once", () => {
  const text = new StepText();
  assert.equal(reported(text.add(1, "Hel")), "Hel");
  assert.equal(reported(text.end(1, "Hello", false)), "lo");
  assert.equal(reported(text.end(1, "Hello", false)), "");
  assert.equal(reported(text.add(1, "late")), "", "live text behind the end of its step");
  assert.equal(reported(text.answer("Hello")), "");
});

test("live text with a gap is voided and sent again in full", () => {
  const text = new StepText();
  text.add(1, "Hel");
  text.add(1, "world");
  assert.equal(reported(text.end(1, "Hello world", false)), "|Hello world");
});

test("a step that is made again takes back what was sent of it, and nothing else", () => {
  const text = new StepText();
  assert.equal(reported(text.reset(1)), "");
  text.add(1, "no");
  assert.equal(reported(text.reset(1)), "|");
  assert.equal(reported(text.end(1, "yes", false)), "yes");
  assert.equal(reported(text.reset(1)), "");
});

test("live text of a step waits for the event of the step before it, and is sent once", () => {
  const text = new StepText();
  assert.equal(reported(text.add(1, "look")), "look");
  assert.equal(reported(text.add(2, "ans")), "");
  assert.equal(reported(text.end(1, "looking", false)), "ing");
  assert.equal(reported(text.add(2, "wer")), "answer");
  assert.equal(reported(text.end(2, "answer", false)), "");
});

test("a text that its event has only the beginning of is completed by the answer", () => {
  const text = new StepText();
  assert.equal(reported(text.end(1, "beg", true)), "beg");
  assert.equal(reported(text.answer("beginning")), "inning");
  const live = new StepText();
  live.add(1, "begin\n[live output truncated]");
  assert.equal(reported(live.end(1, "beg", true)), "");
  assert.equal(reported(live.answer("beginning")), "ning");
});

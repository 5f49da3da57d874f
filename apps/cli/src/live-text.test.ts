import assert from "node:assert/strict";
import { test } from "node:test";
import {
  modelResponded,
  runResumed,
  runStarted,
  toolCompleted,
  toolDenied,
} from "@switchyard/contracts/agent-runner/run-events";
import fc from "fast-check";
import { storedEvent } from "../test-fixtures/stored-event.ts";
import { LiveText } from "./live-text.ts";
import type { TimelineLine } from "./run-timeline.ts";

const delta = (step: number, text: string) => ({ runId: "r", step, delta: text });
const reset = (step: number) => ({ runId: "r", step, delta: "", kind: "reset-step" as const });
const said = (lines: readonly TimelineLine[]): string[] =>
  lines.map(({ mark, text }) => `${mark} ${text}`);

test("shows text line by line, and the rest when the step is whole", () => {
  const live = new LiveText();
  assert.deepEqual(said(live.take(delta(1, "one\ntw"))), ["┆ one"]);
  assert.deepEqual(said(live.take(delta(1, "o"))), []);
  assert.deepEqual(said(live.before(storedEvent(runStarted))), []);
  assert.deepEqual(said(live.before(storedEvent(modelResponded, { step: 1, toolCalls: 0 }))), [
    "┆ two",
  ]);
  assert.deepEqual(said(live.take(delta(1, "late\n"))), [], "the step is over");
  assert.deepEqual(said(live.take(delta(2, "three\n"))), ["┆ three"]);
});

test("marks text that was shown as void when the step is begun anew", () => {
  const live = new LiveText();
  live.take(delta(1, "shown\nrest"));
  assert.deepEqual(said(live.take(reset(1))), [
    "↺ the model is called once more: the text of step 1 so far does not count",
  ]);
  assert.deepEqual(said(live.take(reset(1))), [], "once");
  live.take(delta(1, "again"));
  assert.deepEqual(said(live.before(storedEvent(modelResponded, { step: 1 }))), ["┆ again"]);
});

test("text that was never shown is dropped without a message", () => {
  const live = new LiveText();
  live.take(delta(1, "hidden"));
  assert.deepEqual(said(live.take(reset(1))), []);
  assert.deepEqual(said(live.before(storedEvent(modelResponded, { step: 1 }))), []);
});

test("a runner that takes over makes the text of the one before void", () => {
  const live = new LiveText();
  live.before(storedEvent(modelResponded, { step: 1, toolCalls: 0 }));
  live.take(delta(2, "shown\n"));
  const lines = said(live.before(storedEvent(runResumed)));
  assert.deepEqual(lines, [
    "↺ the model is called once more: the text of step 2 so far does not count",
  ]);
});

test("text of a step waits for the events of the step before it, and none of it is lost", () => {
  const live = new LiveText();
  live.take(delta(1, "one\ntail"));
  assert.deepEqual(said(live.take(delta(2, "two\nre"))), []);
  const responded = storedEvent(modelResponded, { step: 1, toolCalls: 2 });
  assert.deepEqual(said(live.before(responded)), ["┆ tail"]);
  assert.deepEqual(said(live.after(responded)), [], "its calls are not shown yet");
  const denied = storedEvent(toolDenied);
  assert.deepEqual(said(live.before(denied)), []);
  assert.deepEqual(said(live.after(denied)), [], "one of two calls");
  assert.deepEqual(said(live.take(delta(2, "st"))), []);
  const completed = storedEvent(toolCompleted);
  assert.deepEqual(said(live.before(completed)), []);
  assert.deepEqual(said(live.after(completed)), ["┆ two"]);
  assert.deepEqual(said(live.before(storedEvent(modelResponded, { step: 2 }))), ["┆ rest"]);
  assert.ok(live.hasShown(2));
});

test("text behind a step without text waits for that step's events, and nothing is void", () => {
  const live = new LiveText();
  assert.deepEqual(said(live.take(delta(2, "answer\nof step 2"))), []);
  const lines: string[] = [];
  for (const event of [
    storedEvent(runStarted),
    storedEvent(modelResponded, { step: 1, toolCalls: 1 }),
    storedEvent(toolCompleted),
    storedEvent(modelResponded, { step: 2, toolCalls: 0 }),
  ])
    lines.push(...said(live.before(event)), ...said(live.after(event)));
  assert.deepEqual(lines, ["┆ answer", "┆ of step 2"]);
});

test("the first step of a copied run is shown as it is written", () => {
  const live = new LiveText();
  const forkedFrom = { runId: "cli~other", fromStep: 3 };
  live.before(storedEvent(runStarted, { forkedFrom }));
  assert.deepEqual(said(live.take(delta(3, "three\n"))), ["┆ three"]);
});

test("text that waited until its step was printed is printed with it, and not twice", () => {
  const live = new LiveText();
  live.before(storedEvent(modelResponded, { step: 1, toolCalls: 1 }));
  live.take(delta(2, "two\n"));
  const responded = storedEvent(modelResponded, { step: 2, toolCalls: 1 });
  assert.deepEqual(said(live.before(responded)), []);
  assert.deepEqual(said(live.after(responded)), []);
  assert.ok(!live.hasShown(2));
});

test("a model's control characters stay visible text", () => {
  const [line] = new LiveText().take(delta(1, "\u001B[2Jx\n"));
  assert.equal(line?.text, "\\x1b[2Jx");
});

test("whatever the pieces, all words of a step are shown once and in order", () => {
  const words = fc.array(fc.stringMatching(/^[a-z]{1,150}$/), { maxLength: 40 });
  const ends = fc.array(fc.constantFrom(" ", "\n"), { minLength: 40, maxLength: 40 });
  fc.assert(
    fc.property(words, ends, fc.integer({ min: 1, max: 30 }), (texts, gaps, size) => {
      const whole = texts.map((word, index) => `${word}${gaps[index] ?? " "}`).join("");
      const live = new LiveText();
      const lines: TimelineLine[] = [];
      for (let at = 0; at < whole.length; at += size)
        lines.push(...live.take(delta(1, whole.slice(at, at + size))));
      lines.push(...live.before(storedEvent(modelResponded, { step: 1 })));
      const shown = lines.map(({ text }) => text).join("");
      assert.equal(shown.replaceAll(" ", ""), whole.replaceAll(/\s/g, ""));
    }),
  );
});

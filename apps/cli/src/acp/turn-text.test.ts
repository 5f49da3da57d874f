import assert from "node:assert/strict";
import { test } from "node:test";
import { TurnText } from "./turn-text.ts";

const runId = "cli~r";

function textOf(use: (text: TurnText) => void): string {
  let said = "";
  use(new TurnText((text) => (said += text)));
  return said;
}

test("emits a text once, and completes what was lost of it at the end of its step", () => {
  const said = textOf((text) => {
    text.live({ runId, step: 1, delta: "one " });
    text.complete(1, "one two");
    text.live({ runId, step: 1, delta: "late" });
    text.complete(2, "whole");
  });
  assert.equal(said, "one two\n\nwhole");
});

test("text of a step waits for the event of the step before it, and is printed once", () => {
  const said = textOf((text) => {
    text.live({ runId, step: 1, delta: "look" });
    text.live({ runId, step: 2, delta: "ans" });
    text.complete(1, "looking");
    text.live({ runId, step: 2, delta: "wer" });
    text.live({ runId, step: 3, delta: "more" });
    text.answered(2);
    text.complete(3, "more");
  });
  assert.equal(said, "looking\n\nanswermore");
});

test("discards a text when the model request is retried", () => {
  const said = textOf((text) => {
    text.live({ runId, step: 1, delta: "wrong" });
    text.live({ runId, step: 1, delta: "", kind: "reset-step" });
    text.live({ runId, step: 1, delta: "right" });
    text.complete(1, "right");
  });
  assert.match(said, /^wrong\n\n\(The model is called again[^)]*\)\n\nright$/);
});

test("no chunk is white space alone, and texts are paragraphs", () => {
  const chunks: string[] = [];
  const text = new TurnText((chunk) => chunks.push(chunk));
  text.complete(1, "");
  text.live({ runId, step: 2, delta: "\n" });
  text.live({ runId, step: 2, delta: "one" });
  text.live({ runId, step: 2, delta: " " });
  text.live({ runId, step: 2, delta: "two" });
  text.complete(2, "\none two");
  text.complete(3, "");
  text.paragraph("Which colour?");
  text.complete(4, "green");
  assert.deepEqual(chunks, ["\none", " two", "\n\nWhich colour?", "\n\ngreen"]);
});

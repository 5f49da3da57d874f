import assert from "node:assert/strict";
import { test } from "node:test";
import { messageText } from "./message-text.ts";

test("a model's reasoning before a message is not sent, and its escaped line breaks are line breaks", () => {
  assert.equal(messageText("<think>hm\nno</think>one\\ntwo"), "one\ntwo");
  assert.equal(messageText("hm\\n</think>\\n\\none"), "one");
  assert.equal(messageText("<think>not closed"), "");
});

test("a message about such tags keeps them", () => {
  const text = "Models write <think>, and <reasoning>x</reasoning>.";
  assert.equal(messageText(text), text);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { messageText } from "./message-text.ts";

test("what a model thought is not sent, and its line breaks are line breaks", () => {
  assert.equal(messageText("<think>hm\nno</think>one\\ntwo"), "one\ntwo");
  assert.equal(messageText("a <Reasoning>x</Reasoning>b"), "a b");
  assert.equal(messageText("<think>not closed"), "<think>not closed");
});

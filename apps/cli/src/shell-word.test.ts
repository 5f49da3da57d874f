import assert from "node:assert/strict";
import { test } from "node:test";
import { shellWord } from "./shell-word.ts";

test("plain words stay as they are", () => {
  assert.equal(["README.md", "a/b:c", "x=1"].map(shellWord).join(" "), "README.md a/b:c x=1");
});

test("words with spaces and quotes are one word for a shell", () => {
  assert.equal(shellWord("two words"), "'two words'");
  assert.equal(shellWord("it's"), `'it'\\''s'`);
  assert.equal(shellWord(""), "''");
  assert.equal(shellWord("~/notes"), "'~/notes'");
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { quoted } from "./skills.ts";

test("plain words stay as they are", () => {
  assert.equal(["README.md", "a/b:c", "x=1"].map(quoted).join(" "), "README.md a/b:c x=1");
});

test("words with spaces and quotes are one word for a shell", () => {
  assert.equal(quoted("two words"), "'two words'");
  assert.equal(quoted("it's"), `'it'\\''s'`);
  assert.equal(quoted(""), "''");
});

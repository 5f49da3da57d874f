import assert from "node:assert/strict";
import { test } from "node:test";
import { startExcerpt, exitExcerpt } from "./exit-excerpt.ts";

test("keeps the line with the error and leaves out the frames of its stack", () => {
  const frames = Array.from({ length: 40 }, (_, n) => `    at step${n} (/app/index.js:${n}:9)`);
  const text = [
    "starting",
    "",
    "Error: the token has expired",
    ...frames,
    "",
    "Node.js v20.1.0",
    "",
  ];
  assert.equal(
    exitExcerpt(text.join("\n"), 60),
    "starting\nError: the token has expired\nNode.js v20.1.0",
  );
});

test("cuts at whole lines, and a line that is too long between two words", () => {
  assert.equal(exitExcerpt("one two\nthree four\nfive six\n", 20), "three four\nfive six");
  assert.equal(exitExcerpt(`Error: no such table ${"x".repeat(50)}`, 30), "Error: no such table…");
  assert.equal(startExcerpt("a b c", 5), "a b c");
  assert.equal(startExcerpt("alpha beta gamma", 12), "alpha beta…");
  assert.equal(startExcerpt("x".repeat(20), 10), `${"x".repeat(9)}…`);
});

test("leaves out the warnings of npm unless there is nothing else", () => {
  const text = "npm warn Unknown user config\nnpm error code E404\nTOKEN is not set\n";
  assert.equal(exitExcerpt(text, 100), "npm error code E404\nTOKEN is not set");
  assert.equal(exitExcerpt("npm warn deprecated\n", 100), "npm warn deprecated");
});

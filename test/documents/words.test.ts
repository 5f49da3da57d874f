import assert from "node:assert/strict";
import { test } from "node:test";
import { wordingProblems } from "../../scripts/lint/plain-words.ts";
import { markdownFiles } from "./markdown-files.ts";

/** Texts for models are no documentation. */
const LEFT_OUT = /\/(?:agents|skills)\//;

test("the documentation is written in the words of the field", () => {
  const documents = markdownFiles().filter(({ path }) => !LEFT_OUT.test(path));
  const problems = documents.flatMap(({ path, prose }) =>
    prose
      .split("\n")
      .flatMap((line) => wordingProblems(line).map((problem) => `${path}: ${problem}\n${line}`)),
  );
  assert.deepEqual(problems, []);
});

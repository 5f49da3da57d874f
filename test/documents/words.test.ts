import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { wordingProblems } from "../../scripts/lint/plain-words.ts";
import { markdownFiles, root } from "./markdown-files.ts";

/** Texts for models are no documentation. */
const LEFT_OUT = /\/(?:agents|skills)\//;

test("the documentation and the help are written in the words of the field", () => {
  const documents = markdownFiles().filter(({ path }) => !LEFT_OUT.test(path));
  assert.deepEqual([...documents, ...helpTopics()].flatMap(problemsOf), []);
});

/** Lines that are indented are examples. */
function helpTopics(): { path: string; prose: string }[] {
  return globSync("apps/cli/src/help/*.txt", { cwd: root }).map((path) => ({
    path,
    prose: readFileSync(join(root, path), "utf8").replaceAll(/^ .*$/gm, ""),
  }));
}

function problemsOf({ path, prose }: { path: string; prose: string }): string[] {
  return prose
    .split("\n")
    .flatMap((line) => wordingProblems(line).map((problem) => `${path}: ${problem}\n${line}`));
}

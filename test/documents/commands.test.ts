import assert from "node:assert/strict";
import { test } from "node:test";
import { buildProgram } from "../../apps/cli/src/program.ts";
import { shellWords } from "../../apps/cli/test-fixtures/shell-words.ts";
import { markdownFiles } from "./markdown-files.ts";

/** What begins a line that people copy, and what it stands for. */
const BEGINNINGS: readonly (readonly [pattern: RegExp, words: readonly string[]])[] = [
  [/^ *(?:\.\/)?yard (?=[a-z])/, []],
  [/^ *docker compose run --rm cli /, []],
  [/^ *docker compose run --rm auditor /, ["audit"]],
];

test("every command line in a document is one that yard takes", async () => {
  const refused: string[] = [];
  let lines = 0;
  for (const { path, code } of markdownFiles()) {
    for (const line of code) {
      const words = wordsOf(line);
      if (words === null) continue;
      lines += 1;
      const taken = await isTaken(words);
      if (!taken) refused.push(`${path}: ${line.trim()}`);
    }
  }
  assert.deepEqual(refused, []);
  assert.ok(lines > 25, "hardly any command line was found");
});

function wordsOf(line: string): readonly string[] | null {
  for (const [pattern, words] of BEGINNINGS)
    if (pattern.test(line))
      return [...words, ...shellWords(withoutRemark(line.replace(pattern, "")))];
  return null;
}

/** Help topics say beside a command what it does. */
function withoutRemark(line: string): string {
  return line.replace(/ {3,}[^ ].*$/, "");
}

async function isTaken(words: readonly string[]): Promise<boolean> {
  const program = buildProgram("0.0.0", () => Promise.resolve());
  silence(program);
  return program.parseAsync(words, { from: "user" }).then(
    () => true,
    (error: { code?: unknown }) => error.code === "commander.helpDisplayed",
  );
}

function silence(command: ReturnType<typeof buildProgram>): void {
  command.configureOutput({ writeOut: () => {}, writeErr: () => {} });
  for (const child of command.commands) silence(child);
}

import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { buildProgram } from "../../apps/cli/src/program.ts";
import { shellWords } from "../../apps/cli/test-fixtures/shell-words.ts";
import { commandLineOf } from "./command-lines.ts";
import { markdownFiles } from "./markdown-files.ts";

test("every command line in a document is one that yard takes", async () => {
  const refused: string[] = [];
  let lines = 0;
  for (const { path, code } of markdownFiles()) {
    for (const line of code) {
      const typed = commandLineOf(line);
      if (typed === null) continue;
      lines += 1;
      const taken = await isTaken(shellWords(typed));
      if (!taken) refused.push(`${path}: ${line.trim()}`);
    }
  }
  assert.deepEqual(refused, []);
  assert.ok(lines > 25, "hardly any command line was found");
});

test("every command line that a page of the console shows is one that yard takes", async () => {
  const refused: string[] = [];
  let lines = 0;
  for (const path of globSync("apps/console/src/**/*.tsx")) {
    for (const [, text = ""] of readFileSync(path, "utf8").matchAll(
      /\bcli(?:=\{?|: )["`]([^"`]+)["`]/g,
    )) {
      for (const typed of text.replaceAll(/\$\{[^}]*\}/g, "x").split("; ")) {
        lines += 1;
        const taken = await isTaken(shellWords(typed.replace(/^yard /, "")));
        if (!taken) refused.push(`${path}: ${typed}`);
      }
    }
  }
  assert.deepEqual(refused, []);
  assert.ok(lines > 15, "hardly any command line was found");
});

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

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import fc from "fast-check";
import { ToolError } from "../tool-error.ts";
import { commandWords } from "./command-words.ts";

const cases: readonly [string, readonly string[]][] = [
  ["git status", ["git", "status"]],
  ["  git\t log  ", ["git", "log"]],
  [`git commit -m 'two words; and | more'`, ["git", "commit", "-m", "two words; and | more"]],
  [`echo "a \\"b\\" \\\\ \\n"`, ["echo", 'a "b" \\ \\n']],
  [`a''b "" c\\ d`, ["ab", "", "c d"]],
  ["", []],
];

test("splits a command into words like a shell", () => {
  for (const [command, words] of cases) assert.deepEqual(commandWords(command), words, command);
});

test("refuses what only a shell can do, so that the first word is the one program that runs [ER5]", () => {
  for (const command of [
    "git status; rm -rf .",
    "git log | sh",
    "git status && id",
    "echo $HOME",
    'echo "$(id)"',
    "echo `id`",
    "cat < /etc/passwd",
    "echo x > y",
    "ls *.ts",
    "git status\nid",
    "(id)",
  ])
    assert.throws(() => commandWords(command), /set shell to true/, command);
});

test("a quote or a backslash without an end is an error", () => {
  for (const command of ["echo 'a", 'echo "a', "echo a\\"])
    assert.throws(() => commandWords(command), ToolError);
});

test("whatever it splits, sh splits the same way", () => {
  const words = fc.array(
    fc.string({
      unit: fc.constantFrom("a", "b", " ", "'", '"', "\\", ";", "$", "*", "é"),
      minLength: 1,
      maxLength: 8,
    }),
    { minLength: 1, maxLength: 6 },
  );
  const asked: string[][] = [];
  fc.assert(
    fc.property(words, (parts) => {
      const quoted = parts.map((part) => `'${part.replaceAll("'", `'\\''`)}'`).join(" ");
      assert.deepEqual(commandWords(quoted), parts);
      const mixed = parts.join(" ");
      try {
        asked.push([mixed, ...commandWords(mixed)]);
      } catch (error) {
        assert.ok(error instanceof ToolError);
      }
    }),
  );
  for (const [command, ...split] of asked.slice(0, 20)) {
    const printed = execFileSync("sh", ["-c", `printf '%s\\0' ${command}`]).toString("utf8");
    const seen = printed.split("\0").slice(0, -1);
    // printf with no argument prints its format once.
    assert.deepEqual(seen, split.length === 0 ? [""] : split, command);
  }
});

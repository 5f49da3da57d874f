import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { CliError } from "../cli-error.ts";
import { tempDirectory } from "../../test-fixtures/temp-directory.ts";
import { skillFoldersOf } from "./client-folders.ts";

test("the folders of other clients are found, those of the project first, and home is not a project [X33]", async () => {
  const home = tempDirectory();
  const cwd = join(home, "work", "deep");
  for (const folder of [
    ".openclaw/workspace/skills",
    ".claude/skills",
    "work/.claude/skills",
    "work/deep",
  ])
    await mkdir(join(home, folder), { recursive: true });
  assert.deepEqual(await skillFoldersOf("openclaw", { home, cwd }), [
    join(home, ".openclaw/workspace/skills"),
  ]);
  assert.deepEqual(await skillFoldersOf("claude", { home, cwd }), [
    join(home, "work/.claude/skills"),
    join(home, ".claude/skills"),
  ]);
  assert.deepEqual(await skillFoldersOf("claude", { home, cwd: home }), [
    join(home, ".claude/skills"),
  ]);
  await assert.rejects(
    skillFoldersOf("clawft", { home, cwd }),
    (error) =>
      error instanceof CliError &&
      error.code === "directory_missing" &&
      /~\/\.clawft\/skills/.test(error.message),
  );
});

import assert from "node:assert/strict";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { testDirectory } from "@switchyard/testing/test-servers";
import { localSkills } from "./local-skills.ts";

test("finds skills in path order, and reports everything that may be one and is not read", async () => {
  const top = await testDirectory();
  for (const path of [
    "b/SKILL.md",
    "a/SKILL.md",
    "a/references/skill.MD",
    "upper/Skill.md",
    "node_modules/x/SKILL.md",
    "notes/text.md",
  ]) {
    await mkdir(dirname(join(top, path)), { recursive: true });
    await writeFile(join(top, path), "x");
  }
  await symlink(join(top, "b"), join(top, "inside"));
  await symlink(await testDirectory(), join(top, "linked"));
  await symlink(join(top, "absent"), join(top, "lost"));
  await symlink(join(top, "notes/text.md"), join(top, "notes/other.md"));
  const skipped: string[] = [];
  const found: string[] = [];
  const skills = localSkills(top, (path, why) => skipped.push(`${path}: ${why}`));
  for await (const { skill } of skills) found.push(skill.directory);
  assert.deepEqual(found, ["a", "b"]);
  assert.deepEqual(skipped, [
    "linked: links are not followed; name the directory that it leads to",
    "lost: links are not followed; name the directory that it leads to",
    "upper/Skill.md: a skill's file is called SKILL.md, and this one Skill.md; rename it",
  ]);
});

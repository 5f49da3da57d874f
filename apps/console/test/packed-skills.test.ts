import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { packedSkillsOf } from "../src/pages/packed-skills.ts";

const picked = (path: string, text: string) =>
  Object.assign(new File([text], path.split("/").at(-1) ?? ""), { webkitRelativePath: path });

test("tar reads the archive of a picked folder, with names of every length", async () => {
  const long = `skills/${"a-long-name/".repeat(20)}größe.txt`;
  const packed = await packedSkillsOf([
    picked("skills/SKILL.md", "one"),
    picked(long, "x".repeat(1_024)),
    picked("skills/node_modules/left/out.js", ""),
    picked("skills/.git/config", ""),
  ]);
  assert.equal(packed?.format, "tar");
  const input = Buffer.from(await packed.bytes.arrayBuffer());
  const tar = (...more: string[]) =>
    execFileSync("tar", ["--quoting-style=literal", ...more], { input }).toString();
  assert.deepEqual(tar("-t").trim().split("\n"), ["skills/SKILL.md", long]);
  assert.equal(tar("-xO", "skills/SKILL.md"), "one");
  assert.equal(tar("-xO", long), "x".repeat(1_024));
});

test("files without a skill are not packed", async () => {
  assert.equal(await packedSkillsOf([picked("notes/readme.txt", "one")]), null);
});

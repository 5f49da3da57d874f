import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdir, realpath, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { testDirectory } from "@switchyard/testing/test-servers";
import { writeFiles } from "../../test/importer-world.ts";
import { readDefinitions } from "./read-definitions.ts";
import { scanDirectory } from "@switchyard/skills/source/scan-directory";

async function rootWith(files: Readonly<Record<string, string>>): Promise<string> {
  const root = await realpath(await testDirectory());
  await writeFiles(root, files);
  return root;
}

async function scanned(root: string, directory = root) {
  const { candidates, diagnostics } = await scanDirectory(root, directory);
  return {
    found: candidates.map(({ kind, file }) => `${kind} ${file}`),
    codes: diagnostics.map(({ code, file }) => `${code} ${file}`),
  };
}

test("finds skills and agents by name and path, in path order [BR12, X29]", async () => {
  const root = await rootWith({
    "skills/b/SKILL.md": "x",
    "skills/a/skill.md": "x",
    "old/skills.md": "x",
    "skills/a/scripts/run.md": "x",
    "agents/one.yaml": "x",
    "agents/two.yml": "x",
    "agents/three.md": "x",
    "agents/notes.txt": "x",
    "team/writer/agent.yaml": "x",
    "team/reader/AGENT.md": "x",
    "team/reader/other.md": "x",
    "README.md": "x",
  });
  assert.deepEqual(await scanned(root), {
    found: [
      "agent agents/one.yaml",
      "agent agents/three.md",
      "agent agents/two.yml",
      "skill old/skills.md",
      "skill skills/a/skill.md",
      "skill skills/b/SKILL.md",
      "agent team/reader/AGENT.md",
      "agent team/writer/agent.yaml",
    ],
    codes: [],
  });
});

test("reads one file of a directory with several spellings", async () => {
  const root = await rootWith({ "a/SKILL.md": "x", "a/skills.md": "x" });
  assert.deepEqual((await scanned(root)).found, ["skill a/SKILL.md"]);
});

test("treats agents inside a skill as a part of that skill", async () => {
  const root = await rootWith({
    "s/SKILL.md": "x",
    "s/agents/openai.yaml": "x",
    "s/sub/AGENT.md": "x",
  });
  assert.deepEqual((await scanned(root)).found, ["skill s/SKILL.md"]);
});

test("searches six levels down, reports that it stopped, and skips installed packages [BR12]", async () => {
  const root = await rootWith({
    "1/2/3/4/5/6/SKILL.md": "x",
    "1/2/3/4/5/6/7/SKILL.md": "x",
    "node_modules/p/SKILL.md": "x",
    ".git/SKILL.md": "x",
    ".claude/skills/s/SKILL.md": "x",
  });
  const expected = { found: ["skill .claude/skills/s/SKILL.md", "skill 1/2/3/4/5/6/SKILL.md"] };
  assert.deepEqual(await scanned(root), { ...expected, codes: ["scan_limit 1/2/3/4/5/6/7"] });
});

test("reads no more than 10,000 directories, the upper ones first, and names those that it left out", async () => {
  const root = await rootWith({ "a/deep/SKILL.md": "x" });
  const many = Array.from({ length: 10_000 }, (_, index) => join(root, `d${index}`));
  await Promise.all(many.map((directory) => mkdir(directory)));
  await Promise.all(
    ["d1", "d9997", "d9998", "d9999"].map((name) => writeFile(join(root, name, "SKILL.md"), "x")),
  );
  const scan = await scanDirectory(root, root);
  assert.deepEqual(
    scan.candidates.map(({ file }) => file),
    ["d1/SKILL.md", "d9997/SKILL.md"],
  );
  // The root and `a` are two of the directories, and `a/deep` is reached after all of them.
  assert.deepEqual(
    scan.diagnostics.map(({ code, file, message }) => ({ code, file, message })),
    [
      {
        code: "scan_limit",
        file: "d9998",
        message:
          "the search ends after 10000 directories: 3 directories with at least 3 skills were not searched (d9998, d9999, a/deep); put them under a root of their own",
      },
    ],
  );
  assert.equal(scan.skillsLeftOut, 3);
  const { found, skipped } = await readDefinitions(root, scan);
  assert.deepEqual([found.length, skipped.skill], [2, 3]);
});

test("follows links inside the root once, and none that leaves it [BR12]", async () => {
  const outside = await rootWith({ "evil/SKILL.md": "x", "file.md": "x" });
  const root = await rootWith({ "real/s/SKILL.md": "x" });
  await mkdir(join(root, "links"));
  await symlink(join(root, "real/s"), join(root, "links/again"));
  await symlink(root, join(root, "links/loop"));
  await symlink(outside, join(root, "links/out"));
  await symlink(join(root, "absent"), join(root, "links/dangling"));
  await symlink(join(outside, "file.md"), join(root, "links/SKILL.md"));
  assert.deepEqual(await scanned(root), {
    found: ["skill links/SKILL.md", "skill real/s/SKILL.md"],
    codes: ["symlink_escape links/out"],
  });
  const { candidates } = await scanDirectory(root, root);
  assert.deepEqual(
    candidates.map(({ problem }) => problem?.code ?? null),
    ["symlink_escape", null],
  );
});

test("reports for everything that may be a skill why it is not read", async () => {
  const root = await rootWith({
    "upper/SKILL.MD": "x",
    "upper/README.md": "x",
    "good/SKILL.md": "x",
    "good/references/Skill.md": "x",
    "directory/SKILL.md/x.txt": "x",
    "directory/agents/a.yaml": "name: a",
  });
  await mkdir(join(root, "pipe"));
  execFileSync("mkfifo", [join(root, "pipe/SKILL.md")]);
  await mkdir(join(root, "dangling/skills"), { recursive: true });
  await symlink(join(root, "absent"), join(root, "dangling/SKILL.md"));
  await symlink(join(root, "absent"), join(root, "dangling/skills/lost"));
  assert.deepEqual(await scanned(root), {
    found: [
      "skill dangling/SKILL.md",
      "agent directory/agents/a.yaml",
      "skill good/SKILL.md",
      "skill pipe/SKILL.md",
    ],
    codes: ["skill_file_name upper/SKILL.MD", "dangling_link dangling/skills/lost"],
  });
  const { skipped, diagnostics } = await readDefinitions(root, await scanDirectory(root, root));
  assert.equal(skipped.skill, 2);
  const errors = diagnostics.filter(({ severity }) => severity === "error");
  assert.deepEqual(
    errors.map(({ code, file }) => `${code} ${file}`),
    ["dangling_link dangling/SKILL.md", "not_a_file pipe/SKILL.md"],
  );
});

test("does not mistake a neighbour with a longer name for the root", async () => {
  const parent = await rootWith({ "root/SKILL.md": "x", "root-2/SKILL.md": "x" });
  const root = join(parent, "root");
  await symlink(join(parent, "root-2"), join(root, "out"));
  assert.deepEqual(await scanned(root), {
    found: ["skill SKILL.md"],
    codes: ["symlink_escape out"],
  });
});

test("names a skill that lies right in the root after the root", async () => {
  const root = join(await rootWith({ "My Root/SKILL.md": "x" }), "My Root");
  const definitions = await readDefinitions(root, await scanDirectory(root, root));
  const [skill] = definitions.found;
  assert(skill?.kind === "skill");
  assert.equal(skill.name, "my-root");
  assert.equal(skill.stored.skill.path, ".");
});

test("rejects a directory that cannot be read itself", async () => {
  const root = await rootWith({});
  await assert.rejects(scanDirectory(root, join(root, "absent")), { code: "ENOENT" });
});

test("reads what it found; a file that is too large or no text is skipped [B15]", async () => {
  const root = await rootWith({
    "a/SKILL.md": "---\nname: a\n---\nx",
    "b/SKILL.md": "x".repeat(256 * 1024 + 1),
    "c/SKILL.md": "a\0b",
    "agents/helper.md": "no frontmatter, so no agent",
    "agents/ok.yaml": "description: d",
  });
  const definitions = await readDefinitions(root, await scanDirectory(root, root));
  assert.deepEqual(
    definitions.found.map(({ kind, name }) => `${kind} ${name}`),
    ["skill a", "agent ok"],
  );
  assert.deepEqual(definitions.skipped, { skill: 2, agent: 0 });
  assert.deepEqual(
    definitions.diagnostics.map(({ code, file }) => `${code} ${file}`),
    ["not_an_agent agents/helper.md", "file_too_large b/SKILL.md", "binary_file c/SKILL.md"],
  );
});

test("loads the definitions of the examples without a remark", async () => {
  const root = await realpath(join(import.meta.dirname, "../../../../examples"));
  const definitions = await readDefinitions(root, await scanDirectory(root, root));
  assert.deepEqual(definitions.diagnostics, []);
  const demo = definitions.found.find(({ name }) => name === "demo");
  assert(demo?.kind === "agent");
  assert.equal(demo.stored.model, "scripted/plan");
  assert.equal(demo.stored.plan?.steps.length, 4);
  assert(definitions.found.some(({ name }) => name === "summarise-files"));
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { call } from "@switchyard/bus/call";
import { isError } from "@switchyard/contracts/errors";
import {
  checkSkills,
  getSkill,
  importSkills,
  listSkills,
} from "@switchyard/contracts/skill-importer/skills";
import { importerWorld } from "../../test/importer-world.ts";

test("analyzes files without storing them, and serves verdicts and dependencies of imported ones", async () => {
  const world = await importerWorld();
  const importer = await world.start();
  await world.write({
    "later/good/SKILL.md": "---\nname: good\ndescription: d\n---\nx",
    "later/colon/SKILL.md": "---\nname: colon\ndescription: Use when: it rains\n---\nx",
    "later/lost/SKILL.md": "---\nname: [\n<<<<<<< ours\n---\nx",
    "later/needs/SKILL.md":
      '---\nname: needs\ndescription: d\nmetadata: {"clawdbot":{"requires":{"bins":["no-such-program"]},"os":["linux","macos"]}}\n---\nx',
  });

  await test("a check reports what would load, page by page, and imports nothing", async () => {
    const first = await call(world.cli, checkSkills, { directory: "later", limit: 3 });
    assert.equal(first.total, 4);
    assert.equal(first.nextOffset, 3);
    assert.deepEqual(
      first.files.map(({ file, loads, repaired }) => [file, loads, repaired]),
      [
        ["later/colon/SKILL.md", true, true],
        ["later/good/SKILL.md", true, false],
        ["later/lost/SKILL.md", false, false],
      ],
    );
    assert.equal(first.files[0]?.diagnostics[0]?.patch?.after, "description: 'Use when: it rains'");
    const rest = await call(world.cli, checkSkills, {
      directory: "later",
      offset: 3,
      targets: ["agent-skills"],
    });
    assert.deepEqual(
      rest.files.map(({ name, conformance }) => [
        name,
        conformance.map(({ conforms }) => conforms),
      ]),
      [["needs", [false]]],
    );
    assert.equal(rest.nextOffset, null);
    assert.deepEqual((await call(world.cli, listSkills, {})).skills, []);
  });

  await test("a directory outside of the roots is refused", async () => {
    const refused = call(world.cli, checkSkills, { directory: "/etc" });
    await assert.rejects(refused, (error) => isError(error, checkSkills, "directory_not_allowed"));
  });

  await test("an import counts the repaired files; found is loaded and skipped", async () => {
    const { skills } = await call(world.cli, importSkills, { directory: "later" });
    assert.deepEqual(skills, { found: 4, loaded: 3, skipped: 1, repaired: 1 });
  });

  await test("a missing program warns and blocks nothing [B5, B9, D45]", async () => {
    const { skill, dependencies, conformance } = await call(world.cli, getSkill, { name: "needs" });
    assert.equal(skill.repaired, undefined);
    assert.equal(dependencies?.met, false);
    assert.equal(dependencies.warnings[0], "Required binary not found in PATH: no-such-program");
    assert.deepEqual(dependencies.requirements.os, ["linux", "darwin"]);
    assert.equal(conformance?.length, 5);
    const other = await call(world.cli, getSkill, { name: "colon" });
    assert.equal(other.skill.repaired, true);
    assert.equal(other.dependencies, null);
  });

  assert.equal(await importer.stop(), 0);
});

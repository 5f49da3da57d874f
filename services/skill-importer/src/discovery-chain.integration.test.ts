import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { call } from "@switchyard/bus/call";
import { getAgent, listAgents } from "@switchyard/contracts/skill-importer/agents";
import { removeSkill, uploadSkills } from "@switchyard/contracts/skill-importer/skill-store";
import { getSkill, listSkills, renderSkill } from "@switchyard/contracts/skill-importer/skills";
import { testDirectory } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import type { LogRecord } from "@switchyard/testing/log-records";
import { importerWorld, WATCHING, writeFiles } from "../test/importer-world.ts";

const [project, user, workspace] = [
  await testDirectory(),
  await testDirectory(),
  await testDirectory(),
];
const world = await importerWorld();
const skillText = (name: string, body: string) =>
  `---\nname: ${name}\ndescription: d\n---\n${body}`;

test("project, user and workspace are one chain, shown to the operator and kept while files change", async () => {
  await writeFiles(project, {
    "greet/SKILL.md": skillText("greet", "From the project."),
    "agents/coder.yaml": "description: The project's",
  });
  await writeFiles(user, {
    "greet/SKILL.md": skillText("greet", "From the user."),
    "mine/SKILL.md": skillText("mine", "From the user."),
    "agents/coder.yaml": "description: The user's",
    "agents/planner.md": "---\ndescription: The user's\n---\nYou plan.",
  });
  await writeFiles(workspace, {
    "greet/SKILL.md": skillText("greet", "From the workspace."),
    "mine/SKILL.md": skillText("mine", "From the workspace."),
    "ours/SKILL.md": skillText("ours", "From the workspace."),
  });
  const importer = await world.start(
    { YARD_SKILL_ROOTS: `project=${project}:user=${user}:workspace=${workspace}` },
    WATCHING,
  );
  const overridden = () =>
    importer.records.filter(({ msg }) => msg === "definition overridden").map(reasonOf);

  await test("of one name the entry of the earlier root counts, and each entry keeps its source [D3, D60]", async () => {
    const { skills } = await call(world.cli, listSkills, {});
    assert.deepEqual(
      skills.map(({ name, scope }) => [name, scope]),
      [
        ["greet", "project"],
        ["mine", "user"],
        ["ours", "workspace"],
      ],
    );
  });

  await test("agents come from the project, then the user, then the built-in ones [D15, D61]", async () => {
    const { agents } = await call(world.cli, listAgents, {});
    assert.deepEqual(
      agents.map(({ name, source }) => [name, source]),
      [
        ["coder", "project"],
        ["default", "built-in"],
        ["explore", "built-in"],
        ["planner", "user"],
      ],
    );
    const { agent } = await call(world.cli, getAgent, { name: "coder" });
    assert.equal(agent.description, "The project's");
  });

  await test("warns the operator of every name that one root overrides in another [D53, SEC-SKILL-06]", () => {
    const expected = [
      `coder is overridden by agents/coder.yaml in ${project}, which goes before ${user}`,
      `greet is overridden by greet/SKILL.md in ${project}, which goes before ${user}`,
      `greet is overridden by greet/SKILL.md in ${project}, which goes before ${workspace}`,
      `mine is overridden by mine/SKILL.md in ${user}, which goes before ${workspace}`,
    ];
    assert.deepEqual(overridden().toSorted(), expected.toSorted());
  });

  await test("the next root has the name when the file before it is removed, and loses it when it is back [D3, D60]", async () => {
    const imports = () => importer.records.filter(({ msg }) => msg === "catalogue imported").length;
    const bodyIs = async (body: string, change: () => Promise<void>) => {
      await change();
      for (let seen = imports(); ; seen += 1) {
        const { skill } = await call(world.cli, getSkill, { name: "greet" });
        if (skill.body === body) return;
        await importer.logged(() => imports() > seen);
      }
    };
    await bodyIs("From the user.", () => rm(join(project, "greet"), { recursive: true }));
    await bodyIs("From the workspace.", () => rm(join(user, "greet"), { recursive: true }));
    await bodyIs("New in the project.", () =>
      writeFiles(project, { "greet/SKILL.md": skillText("greet", "New in the project.") }),
    );
  });

  await test("a copy in a later root, or one that a client sends, leaves the first in force", async () => {
    const text = skillText("same", "In {baseDir}.");
    await Promise.all(
      [project, user, workspace].map((root) => writeFiles(root, { "same/SKILL.md": text })),
    );
    const isFoundThrice = () =>
      overridden().filter((reason) => reason.startsWith("same ")).length === 2;
    await importer.logged(isFoundThrice);
    const sent = { directory: "same", files: [{ path: "SKILL.md", text }] };
    const reply = await call(world.cli, uploadSkills, { label: "test", skills: [sent] });
    assert.equal(reply.skills[0]?.change, "hidden");
    const rendered = async () => (await call(world.cli, renderSkill, { name: "same" })).text;
    assert.ok((await rendered()).includes(`In ${project}/same.`), await rendered());
    const { skill } = await call(world.cli, getSkill, { name: "same" });
    assert.deepEqual([skill.scope, skill.path], ["project", "same"]);
    // After the first one is removed, the next one counts, with its own source.
    await rm(join(project, "same"), { recursive: true });
    await until(rendered, (now) => now.includes(`In ${user}/same.`));
    await Promise.all([user, workspace].map((root) => rm(join(root, "same"), { recursive: true })));
    await until(rendered, (now) => now.includes("In skill://same."));
    await call(world.cli, removeSkill, { name: "same" });
  });

  assert.equal(await importer.stop(), 0);
});

function reasonOf({ reason }: LogRecord): string {
  return String(reason);
}

import assert from "node:assert/strict";
import { test } from "node:test";
import { call } from "@switchyard/bus/call";
import { checkAgents } from "@switchyard/contracts/skill-importer/agents";
import { isError } from "@switchyard/contracts/errors";
import {
  matchSkills,
  skillCatalogue,
  skillManifests,
} from "@switchyard/contracts/skill-importer/skill-catalogue";
import { getSkill, renderSkill } from "@switchyard/contracts/skill-importer/skills";
import { importerWorld } from "../../test/importer-world.ts";

const world = await importerWorld();
const LONG = "long-winded-and-of-little-use-for-anything-else";

function skill(name: string, description: string, more = "", body = "Do it."): string {
  return `---\nname: ${name}\ndescription: ${description}\n${more}---\n${body}`;
}

test("computes lists, matches, manifests and verdicts from the catalogue", async () => {
  await world.write({
    "skills/pdf/SKILL.md": skill("pdf", "Extracts tables from PDF files."),
    "skills/pdf/scripts/extract.py": "print()",
    "skills/pdf/references/tables.md": "# Tables",
    "skills/deploy/SKILL.md": skill("deploy", "Ships a service.", "when_to_use: On a release\n"),
    "skills/hidden/SKILL.md": skill("hidden", "Release notes.", "disable-model-invocation: yes\n"),
    "skills/help/SKILL.md": skill(
      "help",
      "Helps.",
      "metadata: {openclaw: {requires: {bins: [no-such-program-here]}}}\n",
      "Say $ARGUMENTS[0] to ${1}.",
    ),
    "skills/long/SKILL.md": skill(LONG, "Goes on.", "", "word ".repeat(400)),
  });
  const importer = await world.start({}, { skillPromptBytes: 1_024 });
  const { cli } = world;

  await test("lists within the budget and reports what was cut", async () => {
    const whole = await call(cli, skillCatalogue, {});
    assert.deepEqual(
      whole.listed.map(({ name }) => name),
      ["deploy", "help", LONG, "pdf"],
    );
    assert.deepEqual([whole.budgetTokens, whole.dropped], [4_500, []]);
    const fewer = await call(cli, skillCatalogue, { without: ["help", "not-there"] });
    assert.deepEqual(
      fewer.listed.map(({ name }) => name),
      ["deploy", LONG, "pdf"],
    );
    assert.doesNotMatch(fewer.text, /help/);
    assert.deepEqual(fewer.dropped, []);
    const some = await call(cli, skillCatalogue, { budgetTokens: 50, about: "tables in a PDF" });
    assert.ok(some.listed.some(({ name }) => name === "pdf"));
    assert.deepEqual([some.dropped, some.tokens <= 50], [[LONG], true]);
    const window = await call(cli, skillCatalogue, { contextWindow: 100_000 });
    assert.equal(window.budgetTokens, 1_000);
  });

  await test("finds the skills that fit a text [D10]", async () => {
    const { matches, searched } = await call(cli, matchSkills, { text: "prepare the release" });
    assert.deepEqual(matches.map(({ name }) => name).toSorted(), ["deploy", "hidden"]);
    assert.equal(searched, 5);
    const forModels = { text: "prepare the release", modelInvocableOnly: true };
    const fewer = await call(cli, matchSkills, forModels);
    assert.deepEqual([fewer.matches[0]?.name, fewer.matches.length], ["deploy", 1]);
    assert.equal(fewer.searched, 4);
  });

  await test("shows skills as a plugin registry does, a page at a time [B12, B14, B4, X18]", async () => {
    const first = await call(cli, skillManifests, { limit: 2 });
    assert.deepEqual(
      first.skills.map(({ manifest }) => manifest.id),
      ["openclaw-skill-deploy", "openclaw-skill-help"],
    );
    assert.deepEqual([first.total, first.nextOffset], [5, 2]);
    const found = first.skills.find(({ manifest }) => manifest.name === "help");
    assert.equal(found?.dependenciesMet, false);
    assert.equal(found?.sourcePath, "skills/help");
    assert.equal(found?.warnings.length, 2); // the program and the shadowed command
    const all = await call(cli, skillManifests, {});
    for (const source of ["openclaw", "agent-skills"] as const) {
      const some = await call(cli, skillManifests, { source });
      const expected = all.skills.filter(({ manifest }) => manifest.source === source);
      assert.deepEqual(some.skills, expected);
      assert.equal(some.total, expected.length);
      assert.ok(expected.length > 0);
    }
    const last = await call(cli, skillManifests, { offset: 4 });
    assert.equal(last.nextOffset, null);
    await assert.rejects(call(cli, skillManifests, { name: "absent" }), (error) =>
      isError(error, skillManifests, "unknown_skill"),
    );
  });

  await test("imported skills, ready skills and skills visible to a model are three answers [BR14]", async () => {
    const { skills } = await call(cli, skillManifests, {});
    const { listed } = await call(cli, skillCatalogue, {});
    const namesOf = (some: readonly { name: string }[]) => some.map(({ name }) => name).toSorted();
    const all = ["deploy", "help", "hidden", LONG, "pdf"].toSorted();
    assert.deepEqual(namesOf(skills.map(({ manifest }) => manifest)), all);
    const ready = skills.filter(({ dependenciesMet }) => dependenciesMet);
    assert.deepEqual(
      namesOf(ready.map(({ manifest }) => manifest)),
      all.filter((name) => name !== "help"),
    );
    assert.deepEqual(
      namesOf(listed),
      all.filter((name) => name !== "hidden"),
    );
  });

  await test("analyzes agent files that a client sends, and names the file of each mistake [D57]", async () => {
    const { files } = await call(cli, checkAgents, {
      files: [
        { file: "agents/reviewer.md", text: "---\nskills: [pdf, absent]\n---\nYou review." },
        { file: "agents/broken.yaml", text: "temperature: 9" },
        { file: "agents/README.md", text: "# Agents" },
        { file: "agents/forgotten.md", text: "You review." },
        { file: "my/scout/agent.yaml", text: "max_tool_iterations: 3" },
      ],
    });
    assert.deepEqual(
      files.map(({ verdict, agent, diagnostics }) => [
        verdict,
        agent?.name,
        diagnostics.map(({ file, code, line }) => [file, code, line]),
      ]),
      [
        ["loads", "reviewer", [["agents/reviewer.md", "unknown_skill", 2]]],
        ["skipped", undefined, [["agents/broken.yaml", "invalid_field", 1]]],
        ["not_an_agent", undefined, []],
        ["not_an_agent", undefined, [["agents/forgotten.md", "not_an_agent", null]]],
        ["loads", "scout", []],
      ],
    );
  });

  await test("lists the placeholders of a skill, and cuts at its own limit [D32, D50, BR2]", async () => {
    const { variables } = await call(cli, getSkill, { name: "help" });
    assert.deepEqual(variables, ["ARGUMENTS[0]", "1"]);
    const { text, warnings } = await call(cli, renderSkill, { name: LONG });
    assert.ok(Buffer.byteLength(text) < 1_200);
    assert.match(warnings.join(), /was cut to 1024/);
  });

  await test("names the files beside a skill to the model", async () => {
    const { text } = await call(cli, renderSkill, { name: "pdf" });
    assert.deepEqual(text.match(/(?<=<file>)[^<]+/g), [
      "references/tables.md",
      "scripts/extract.py",
    ]);
  });

  assert.equal(await importer.stop(), 0);
});

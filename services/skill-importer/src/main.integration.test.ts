import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { until } from "@switchyard/local-servers/until";
import { test } from "node:test";
import { call } from "@switchyard/bus/call";
import { readEvents } from "@switchyard/bus/events";
import { getAgent, listAgents } from "@switchyard/contracts/skill-importer/agents";
import { isError } from "@switchyard/contracts/errors";
import { batchImported } from "@switchyard/contracts/skill-importer/skill-store";
import {
  getSkill,
  importSkills,
  listSkills,
  renderSkill,
  skillImported,
} from "@switchyard/contracts/skill-importer/skills";
import { testDirectory } from "@switchyard/testing/test-servers";
import {
  importerWorld,
  WATCHING,
  startProcess,
  writeFiles,
  type Importer,
  type ImporterWorld,
} from "../test/importer-world.ts";

const elsewhere = await testDirectory();
const skillText = (body: string, more = "") =>
  `---\nname: greet\ndescription: Greets people.\n${more}---\n${body}`;
const digestOf = (text: string) => `sha256:${createHash("sha256").update(text).digest("hex")}`;

async function importedEvents({ cli }: ImporterWorld): Promise<string[]> {
  const names: string[] = [];
  const filters = ["yard.evt.skill.*.imported", "yard.evt.agent.*.imported"];
  for await (const event of readEvents(cli, { filters, from: "beginning", stopAtEnd: true })) {
    names.push(event.subject.split(".").slice(2, 4).join(" "));
  }
  return names;
}

const names = (items: readonly { name: string }[]) => items.map(({ name }) => name);

test("imports its roots at start and serves skills and agents", async () => {
  const world = await importerWorld();
  const text = skillText("Hello $ARGUMENTS, from {baseDir}.", "allowed-tools: read_file\n");
  await world.write({
    "skills/greet/SKILL.md": text,
    "skills/bare/skill.md": "# Bare\n\nNo frontmatter at all.",
    "skills/broken/SKILL.md": "---\nkind: broken\n- a: [\n---\nx",
    "agents/helper.md": "---\ndescription: Helps.\ntools: none\n---\nYou help.",
    "agents/coder.yaml": "description: Our own coder",
    "agents/README.md": "# About the agents",
    "agents/worse.md":
      "---\ndescription: Steps backwards.\nmax_tool_iterations: -3\n---\nYou fail.",
  });
  const importer = await world.start();

  await test("lists the definitions that load; a bad file blocks no other [B15, B21, D60, DR11, X34]", async () => {
    const { skills } = await call(world.cli, listSkills, {});
    assert.deepEqual(names(skills), ["bare", "greet"]);
    const { agents } = await call(world.cli, listAgents, {});
    assert.deepEqual(names(agents), ["coder", "default", "explore", "helper", "planner"]);
  });

  await test("lists which agent files cannot be used, and why", async () => {
    const { unusable = [] } = await call(world.cli, listAgents, {});
    assert.deepEqual(
      unusable.map(({ file, line }) => ({ file, line })),
      [{ file: "agents/worse.md", line: 3 }],
    );
    assert.match(unusable[0]?.message ?? "", /max_tool_iterations/);
  });

  await test("shows the operator which file was skipped, where and why [D57]", () => {
    const skipped = importer.records.filter(({ msg }) => msg === "file skipped");
    assert.deepEqual(
      skipped.map(({ level, file, line, column, code }) => ({ level, file, line, column, code })),
      [
        {
          level: "warn",
          file: "agents/worse.md",
          line: 3,
          column: 22,
          code: "invalid_field",
        },
        {
          level: "warn",
          file: "skills/broken/SKILL.md",
          line: 3,
          column: 1,
          code: "invalid_yaml",
        },
      ],
    );
    const done = importer.records.find(({ msg }) => msg === "catalogue imported");
    assert.deepEqual(done?.["skills"], { found: 3, loaded: 2, skipped: 1, repaired: 0 });
    assert.deepEqual(done?.["agents"], { found: 3, loaded: 2, skipped: 1 });
  });

  await test("returns a skill with its body, and an agent with its prompt [B23]", async () => {
    const { skill } = await call(world.cli, getSkill, { name: "greet" });
    assert.equal(skill.body, "Hello $ARGUMENTS, from {baseDir}.");
    assert.equal(skill.path, "skills/greet");
    assert.equal(skill.digest, digestOf(text));
    const { agent } = await call(world.cli, getAgent, { name: "helper" });
    assert.equal(agent.systemPrompt, "You help.");
    assert.deepEqual(agent.tools, []);
  });

  await test("prefers the project's agent to the built-in one [D15]", async () => {
    const { agent } = await call(world.cli, getAgent, { name: "coder" });
    assert.equal(agent.source, "project");
    assert.equal(agent.description, "Our own coder");
  });

  await test("renders a skill for a prompt, as its slash command does [D10, D11, D62]", async () => {
    const reply = await call(world.cli, renderSkill, { name: "greet", arguments: "Ada" });
    const directory = join(world.root, "skills/greet");
    assert.equal(
      reply.text,
      `<skill_content name="greet">\nHello Ada, from ${directory}.\n</skill_content>`,
    );
    assert.deepEqual(reply.allowedTools, ["read_file"]);
    assert.deepEqual(reply.warnings, []);
  });

  await test("lists existing names in the error about an unknown one [D57, D62]", async () => {
    await assert.rejects(call(world.cli, getSkill, { name: "absent" }), (error) => {
      assert(isError(error, getSkill, "unknown_skill"));
      assert.match(error.message, /there is no skill absent/);
      assert.deepEqual(error.data, { name: "absent", known: ["bare", "greet"] });
      return true;
    });
    await assert.rejects(
      call(world.cli, getSkill, { name: "greet", digest: digestOf("another") }),
      (error) => isError(error, getSkill, "unknown_skill"),
    );
    await assert.rejects(call(world.cli, renderSkill, { name: "absent" }), (error) =>
      isError(error, renderSkill, "unknown_skill"),
    );
    await assert.rejects(call(world.cli, getAgent, { name: "absent" }), (error) =>
      isError(error, getAgent, "unknown_agent"),
    );
  });

  await test("publishes each new version once, also when it restarts", async () => {
    const expected = [
      "skill bare",
      "skill greet",
      "agent coder",
      "agent helper",
      "agent default",
      "agent explore",
      "agent planner",
    ].toSorted();
    assert.deepEqual((await importedEvents(world)).toSorted(), expected);
    assert.equal(await importer.stop(), 0);
    const again = await world.start();
    assert.equal((await importedEvents(world)).length, expected.length);
    assert.equal(await again.stop(), 0);
  });
});

test("imports a directory on request [B18, B20]", async () => {
  const world = await importerWorld();
  const first = skillText("First.");
  await world.write({ "team/greet/SKILL.md": first, "other/keep/SKILL.md": "Keep me." });
  await world.start({ PATH: dirname(process.execPath) });

  await test("keeps an old version readable by its digest after an update", async () => {
    const second = skillText("Second.");
    await world.write({ "team/greet/SKILL.md": second });
    const reply = await call(world.cli, importSkills, { directory: "team" });
    assert.deepEqual(reply, {
      skills: { found: 1, loaded: 1, skipped: 0, repaired: 0 },
      agents: { found: 0, loaded: 0, skipped: 0 },
      diagnostics: [],
    });
    const current = await call(world.cli, getSkill, { name: "greet" });
    assert.equal(current.skill.digest, digestOf(second));
    const pinned = await call(world.cli, getSkill, { name: "greet", digest: digestOf(first) });
    assert.equal(pinned.skill.body, "First.");
    const rendered = await call(world.cli, renderSkill, { name: "greet", digest: digestOf(first) });
    assert.match(rendered.text, /First\./);
    const events = await importedEvents(world);
    assert.equal(events.filter((name) => name === "skill greet").length, 2);
  });

  await test("removes a skill when its file is deleted, and leaves others alone", async () => {
    await rm(join(world.root, "team/greet"), { recursive: true });
    await call(world.cli, importSkills, { directory: join(world.root, "team") });
    assert.deepEqual(names((await call(world.cli, listSkills, {})).skills), ["keep"]);
    const pinned = await call(world.cli, getSkill, { name: "greet", digest: digestOf(first) });
    assert.equal(pinned.skill.name, "greet");
  });

  await test("reports duplicates and broken files, and its counts add up", async () => {
    await world.write({
      "team/a/SKILL.md": "---\nname: twin\n---\nThe first.",
      "team/b/SKILL.md": "---\nname: twin\n---\nThe second.",
      "team/c/SKILL.md": "---\nname: c\n",
      "team/agents/planner.yaml": "description: Ours",
      "team/agents/wrong.yaml": "blockedTools: [x]",
    });
    const reply = await call(world.cli, importSkills, { directory: "team" });
    assert.deepEqual(reply.skills, { found: 3, loaded: 1, skipped: 2, repaired: 0 });
    assert.deepEqual(reply.agents, { found: 2, loaded: 1, skipped: 1 });
    assert.deepEqual(
      reply.diagnostics
        .filter(({ code }) => code !== "name_differs")
        .map(({ severity, code, file }) => `${severity} ${code} ${file}`),
      [
        "error unknown_key team/agents/wrong.yaml",
        "error unterminated_frontmatter team/c/SKILL.md",
        "warning duplicate_name team/b/SKILL.md",
        "info overrides_built_in team/agents/planner.yaml",
      ],
    );
    const { skill } = await call(world.cli, getSkill, { name: "twin" });
    assert.equal(skill.body, "The first.");
  });

  await test("publishes the outcome of an import, and what a skill needs of this machine [B24, B25]", async () => {
    const needs = (bins: string) => `metadata: { openclaw: { requires: { bins: [${bins}] } } }\n`;
    await world.write({
      "needy/bad/SKILL.md": `---\nname: needs-more\n${needs("no-such-program-here")}---\nx`,
      "needy/good/SKILL.md": `---\nname: needs-little\n${needs("node")}---\nx`,
      "needy/plain/SKILL.md": "---\nname: needs-nothing\n---\nx",
      "needy/broken/SKILL.md": "---\nname: broken\n",
      "needy/agents/helper.yaml": "description: Helps",
    });
    const label = join(world.root, "needy");
    const by = "cli";
    await call(world.cli, importSkills, { directory: "needy", dryRun: true });
    await call(world.cli, importSkills, { directory: "needy" });
    const met: unknown[] = [];
    const ended: unknown[] = [];
    const filters = ["yard.evt.skill.*.imported", "yard.evt.import.*.completed"];
    const options = { filters, from: "beginning", stopAtEnd: true } as const;
    for await (const { subject, payload } of readEvents(world.cli, options)) {
      if (subject.includes(".needs-")) {
        const { skill, dependenciesMet, warnings } = skillImported.payload.parse(payload);
        const unmet = warnings?.filter((text) => !text.startsWith("the directory is called"));
        met.push([skill.name, dependenciesMet, unmet]);
      } else if (subject.startsWith("yard.evt.import.")) {
        const { at: _, ...counts } = batchImported.payload.parse(payload);
        if (counts.label === label) ended.push(counts);
      }
    }
    assert.deepEqual(met, [
      ["needs-more", false, ["Required binary not found in PATH: no-such-program-here"]],
      ["needs-little", true, []],
      ["needs-nothing", null, []],
    ]);
    assert.deepEqual(ended, [{ label, by, imported: 4, failed: 1, totalScanned: 5 }]);
    await rm(label, { recursive: true });
    await call(world.cli, importSkills, { directory: "." });
  });

  await test("refuses a directory outside of its roots, however it is written", async () => {
    const outside = await testDirectory();
    await symlink(outside, join(world.root, "link"));
    await mkdir(join(outside, "greet"));
    await writeFile(join(outside, "greet/SKILL.md"), first);
    const attempts = [outside, "../", "/etc", `${world.root}/../etc`, "link", "link/greet"];
    await Promise.all(
      attempts.map((directory) =>
        assert.rejects(call(world.cli, importSkills, { directory }), (error) => {
          assert(isError(error, importSkills, "directory_not_allowed"), directory);
          assert.deepEqual(error.data.roots, [world.root]);
          return true;
        }),
      ),
    );
  });

  await test("reports a missing directory", async () => {
    await assert.rejects(call(world.cli, importSkills, { directory: "absent" }), (error) =>
      isError(error, importSkills, "directory_missing"),
    );
  });

  await test("does not follow a link out of the root [BR12]", async () => {
    const secret = join(await testDirectory(), "secret.txt");
    await writeFile(secret, "top secret");
    await mkdir(join(world.root, "team/escape"));
    await symlink(secret, join(world.root, "team/escape/SKILL.md"));
    const reply = await call(world.cli, importSkills, { directory: "team/escape" });
    assert.deepEqual(reply.skills, { found: 1, loaded: 0, skipped: 1, repaired: 0 });
    assert.equal(reply.diagnostics[0]?.code, "symlink_escape");
    assert(!names((await call(world.cli, listSkills, {})).skills).includes("escape"));
  });
});

test("serves from every replica what one of them imported", async () => {
  const world = await importerWorld();
  const [one, two] = await Promise.all([world.start(), world.start()]);
  // Both start with the same built-in agents.
  await until(
    () => importedEvents(world),
    (events) => events.length === 4,
  );
  await world.write({ "greet/SKILL.md": skillText("Hello.") });
  await call(world.cli, importSkills, { directory: "." });
  assert.equal(await one.stop(), 0);
  const { skill } = await call(world.cli, getSkill, { name: "greet" });
  assert.equal(skill.body, "Hello.");
  assert.equal(await two.stop(), 0);
});

test("imports again when files change", async () => {
  const world = await importerWorld();
  await world.write({ "skills/greet/SKILL.md": skillText("First.") });
  const importer = await world.start({}, WATCHING);
  const loadedSkills = (count: number) => (record: { [key: string]: unknown }) =>
    record["msg"] === "catalogue imported" &&
    (record["skills"] as { loaded: number }).loaded === count; // as the service writes it

  await world.write({ "skills/new/deep/SKILL.md": "A new one." });
  await importer.logged(loadedSkills(2));
  await call(world.cli, getSkill, { name: "deep" });
  await rm(join(world.root, "skills"), { recursive: true });
  await importer.logged(loadedSkills(0));
  assert.deepEqual((await call(world.cli, listSkills, {})).skills, []);
  assert.equal(await importer.stop(), 0);
});

test("the last good version of a file that breaks stays listed, also after a restart, until the file is corrected or deleted", async () => {
  const world = await importerWorld();
  const agent = "agents/reader.yaml";
  await world.write({ [agent]: "description: Reads." });
  const first = await world.start({ YARD_IMPORT_STRICT: "1" });
  const { agent: good } = await call(world.cli, getAgent, { name: "reader" });
  assert.equal(await readiness(first), 200);
  for (const text of ["description: [", "temperature: 9", ""]) {
    await world.write({ [agent]: text });
    const { diagnostics } = await call(world.cli, importSkills, { directory: "." });
    assert.ok(diagnostics.some(({ code, file }) => code === "last_good" && file === agent));
    const { agent: same } = await call(world.cli, getAgent, { name: "reader" });
    assert.equal(same.digest, good.digest, text);
  }
  assert.equal(await readiness(first), 200, "a rollout that is over is not undone by an edit");
  const second = await world.start({ YARD_IMPORT_STRICT: "1" });
  assert.equal(await readiness(second), 503, "a rollout stops at a bad file");
  assert.equal((await call(world.cli, getAgent, { name: "reader" })).agent.digest, good.digest);
  await rm(join(world.root, agent));
  await call(world.cli, importSkills, { directory: "." });
  assert.ok(!names((await call(world.cli, listAgents, {})).agents).includes("reader"));
  assert.deepEqual(await Promise.all([first.stop(), second.stop()]), [0, 0]);
});

async function readiness({ records }: Importer): Promise<number> {
  const ready = records.find(({ msg }) => msg === "service ready");
  return (await fetch(`${String(ready?.["healthUrl"])}/readyz`)).status;
}

test("imports a root that may be missing from the moment when it is there [D3, D60]", async () => {
  const world = await importerWorld();
  const later = join(elsewhere, "state", "skills");
  const roots = `${world.root}:user?=${later}`;
  const importer = await world.start({ YARD_SKILL_ROOTS: roots }, WATCHING);
  assert.deepEqual((await call(world.cli, listSkills, {})).skills, []);
  const importedSkills = (count: number) => (record: { [key: string]: unknown }) =>
    record["msg"] === "catalogue imported" &&
    (record["skills"] as { loaded: number }).loaded === count; // as the service writes it
  await writeFiles(later, { "greet/SKILL.md": skillText("Hello.") });
  await importer.logged(importedSkills(1));
  const { skill } = await call(world.cli, getSkill, { name: "greet" });
  assert.deepEqual([skill.body, skill.scope], ["Hello.", "user"]);
  const empty = importer.records.filter(importedSkills(0)).length;
  await rm(later, { recursive: true });
  await importer.logged(
    (record) =>
      importedSkills(0)(record) && importer.records.filter(importedSkills(0)).length > empty,
  );
  assert.deepEqual((await call(world.cli, listSkills, {})).skills, []);
  assert.equal(await importer.stop(), 0);
});

test("does not start with a root that is not a directory, and names it", async () => {
  const world = await importerWorld();
  const start = world.startProcess({ YARD_SKILL_ROOTS: "relative/path" });
  await assert.rejects(start, /YARD_SKILL_ROOTS: relative\/path is not an absolute path/);
  const missing = world.startProcess({ YARD_SKILL_ROOTS: join(world.root, "absent") });
  await assert.rejects(missing, /absent is not a directory that can be read/);
  const nested = world.startProcess({ YARD_SKILL_ROOTS: `${world.root}:${world.root}` });
  await assert.rejects(nested, /lies in/);
});

test("does not start with a wrong environment, and lists all that is wrong", async () => {
  const importer = startProcess({ YARD_IMPORT_STRICT: "maybe" });
  assert.equal(await importer.exitCode, 1);
  const [line] = importer.records;
  assert.match(JSON.stringify(line), /YARD_IMPORT_STRICT/);
  assert.match(JSON.stringify(line), /YARD_NATS_URL/);
});

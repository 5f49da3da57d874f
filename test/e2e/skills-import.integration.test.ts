import assert from "node:assert/strict";
import { cp, mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { ImportedSkill, type ImportCounts } from "@switchyard/contracts/skill-importer/skill-store";
import { testDirectory } from "@switchyard/testing/test-servers";
import { yard as yardCommand } from "../../apps/cli/test-fixtures/yard-process.ts";
import { importerWorld } from "../../services/skill-importer/test/importer-world.ts";

/** A tag character, which no editor inserts by accident. */
const TAG = String.fromCodePoint(0xe0041);

interface Summary {
  readonly type: "summary";
  readonly counts: ImportCounts;
}

/** The lines of both outputs. */
async function yardText(env: Readonly<Record<string, string>>, ...args: string[]) {
  const { code, stdout, stderr } = await yardCommand(args, {
    ...process.env,
    ...env,
    NO_COLOR: "1",
  });
  const linesOf = (text: string): string[] => text.split("\n").slice(0, -1);
  return { code, out: linesOf(stdout), notes: linesOf(stderr) };
}

/** Runs `yard … --json` and reads its lines, or its one document. */
async function yard(env: Readonly<Record<string, string>>, ...args: string[]) {
  const { code, out } = await yardText(env, ...args, "--json");
  const documents = out[0] === "{" ? [out.join("\n")] : out;
  return { code, lines: documents.map((text): unknown => JSON.parse(text)) };
}

test("imports 2,000 skills of this machine, one line for each, and loses none silently", async () => {
  const world = await importerWorld();
  await world.start();
  const tree = await testDirectory();
  const writes = Array.from({ length: 2_000 }, async (_, index) => {
    const directory = join(tree, `group-${index % 20}`, `skill-${index}`);
    await mkdir(directory, { recursive: true });
    // Every hundredth is broken, every hundredth but one has to be repaired.
    const broken = "---\n<<<<<<< HEAD\nname: a\n=======\nname: b\n>>>>>>> main\n---\n";
    const repaired = `---\nname: skill-${index}\ndescription: Use when: asked\n---\n`;
    const head = index % 100 === 0 ? broken : index % 100 === 1 ? repaired : "";
    await writeFile(join(directory, "SKILL.md"), `${head}# Skill ${index}\n\nDo it.`);
  });
  await Promise.all(writes);

  const dry = await yard(world.cliEnv, "skills", "import", tree, "--dry-run");
  const skills = dry.lines.slice(0, -1).map((line) => ImportedSkill.parse(line));
  const summary = dry.lines.at(-1) as Summary; // the last line, as documented
  assert.equal(dry.code, 1, "some were skipped");
  assert.equal(new Set(skills.map(({ file }) => file)).size, 2_000);
  assert.deepEqual(summary.counts, {
    found: 2_000,
    loaded: 1_980,
    repaired: 20,
    skipped: 20,
    withheld: 0,
    reasons: { merge_conflict: 20 },
  });

  const group = join(tree, "group-3");
  const real = await yard(world.cliEnv, "skills", "import", group);
  assert.equal(real.code, 0);
  const listed = await yard(world.cliEnv, "skills", "list");
  const { data } = listed.lines[0] as { data: { skills: { name: string }[] } };
  assert.equal(data.skills.length, 100);
});

test("has versions, a difference, a way back, and exit codes [DR10]", async () => {
  const world = await importerWorld();
  await world.start();
  const tree = await testDirectory();
  const file = join(tree, "SKILL.md");
  await writeFile(file, "---\nname: greet\ndescription: Greets.\n---\nFirst.");
  const run = (...args: string[]) => yard(world.cliEnv, "skills", ...args);
  assert.equal((await run("import", tree)).code, 0);
  await writeFile(file, "---\nname: greet\ndescription: Greets.\n---\nSecond.");
  assert.equal((await run("import", tree)).code, 0);
  assert.match(JSON.stringify((await run("diff", "greet")).lines), /-First/);
  assert.equal((await run("rollback", "greet")).code, 0);
  assert.match(JSON.stringify((await run("show", "greet")).lines), /First/);
  assert.equal((await run("versions", "greet")).code, 0);
  assert.equal((await run("remove", "greet")).code, 0);
  assert.equal((await run("show", "greet")).code, 3);
  assert.equal((await run("rollback", "absent")).code, 3);
  assert.equal((await run("trust", "absent")).code, 3);
  assert.equal((await run("import", join(tree, "absent"))).code, 3);
  assert.equal((await run("validate", tree, "--target", "agent-skills")).code, 1);
  assert.equal((await run("validate", tree, "--target", "nobody")).code, 2);
  await cp(file, join(tree, "no-archive.zip"));
  assert.equal((await run("import", join(tree, "no-archive.zip"))).code, 2);
  await writeFile(file, `---\nname: greet\n---\nHidden ${String.fromCodePoint(0xe0041)} text.`);
  assert.equal((await run("scan", tree)).code, 1);
});

test("prints what the scanner found, and a block counts more than a file that was skipped", async () => {
  const world = await importerWorld();
  await world.start();
  const tree = await testDirectory();
  const files: Readonly<Record<string, string>> = {
    "skills/sly/SKILL.md": `---\nname: sly\ndescription: Sly.\n---\nHidden${TAG} text.`,
    "skills/half/SKILL.md": "---\nname: half\n",
    "agents/sly.md": `---\ndescription: Sly.\n---\nHidden${TAG} text.`,
    "agents/half.yaml": "temperature: 7\n",
  };
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(tree, path)), { recursive: true });
    await writeFile(join(tree, path), text);
  }
  for (const what of ["skills", "agents"]) {
    const run = (...args: string[]) => yardText(world.cliEnv, what, ...args);
    for (const args of [["--dry-run"], []]) {
      const { code, out, notes } = await run("import", join(tree, what), ...args);
      assert.equal(code, 1);
      const at = out.findIndex((line) => line.startsWith("withheld: blocked  sly"));
      assert.match(
        out[at + 1] ?? "",
        /^ {2}critical AST\d\d tag_characters \S+:\d+: /,
        out.join("\n"),
      );
      assert.match(notes.join("\n"), /1 of 2 \w+ was skipped/);
    }
    const scan = await run("scan", join(tree, what));
    assert.equal(scan.code, 1);
    assert.match(scan.notes.join("\n"), /1 skipped: .*\n.*1 of 2 \w+ is blocked/);
  }
});

test("of two skills with one name the first counts, whatever part of an import they come in", async () => {
  const world = await importerWorld();
  await world.start();
  const tree = await testDirectory();
  const twin = (body: string) => `---\nname: twin\ndescription: One of two.\n---\n${body}`;
  const files = new Map([
    ["a/SKILL.md", twin("First.")],
    ["b/SKILL.md", twin("In the same part.")],
    ["z/SKILL.md", twin("In the next part.")],
  ]);
  for (let index = 0; index < 70; index += 1) files.set(`n${index}/SKILL.md`, `Skill ${index}.`);
  for (const [path, text] of files) {
    await mkdir(dirname(join(tree, path)), { recursive: true });
    await writeFile(join(tree, path), text);
  }
  // The second import finds the skills that the first one stored, and reports the same.
  for (const args of [["--dry-run"], [], []]) {
    const { code, lines } = await yard(world.cliEnv, "skills", "import", tree, ...args);
    const { counts } = lines.at(-1) as Summary; // the last line, as documented
    assert.deepEqual([code, counts.found, counts.loaded], [1, 73, 71]);
    assert.deepEqual(counts.reasons, { duplicate_name: 2 });
  }
  const shown = await yard(world.cliEnv, "skills", "show", "twin");
  assert.match(JSON.stringify(shown.lines), /First\./);
});

test("of two agents with one name the first counts, whatever part of an import they come in", async () => {
  const world = await importerWorld();
  await world.start();
  const tree = join(await testDirectory(), "agents");
  await mkdir(tree);
  const agent = (name: string, prompt: string) =>
    `---\nname: ${name}\ndescription: Helps.\n---\n${prompt}`;
  const files = new Map([
    ["a.md", agent("twin", "First.")],
    ["b.md", agent("twin", "In the same part.")],
    ["z.md", agent("twin", "In the next part.")],
  ]);
  for (let index = 0; index < 70; index += 1) files.set(`n${index}.md`, agent(`n${index}`, "N."));
  for (const [path, text] of files) await writeFile(join(tree, path), text);
  // The second import finds the skills that the first one stored, and reports the same.
  for (const args of [["--dry-run"], [], []]) {
    const { code, lines } = await yard(world.cliEnv, "agents", "import", tree, ...args);
    const { counts } = lines.at(-1) as Summary; // the last line, as documented
    assert.deepEqual([code, counts.found, counts.loaded], [1, 73, 71]);
    assert.deepEqual(counts.reasons, { duplicate_name: 2 });
  }
  const shown = await yard(world.cliEnv, "agents", "show", "twin");
  assert.match(JSON.stringify(shown.lines), /First\./);
});

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { ImportedSkill, type ImportCounts } from "@switchyard/contracts/skill-store";
import { testDirectory } from "@switchyard/local-servers/test-servers";
import { importerWorld } from "../../services/skill-importer/test/importer-world.ts";

const yardMain = fileURLToPath(new URL("../../apps/cli/src/main.ts", import.meta.url));

interface Summary {
  readonly type: "summary";
  readonly counts: ImportCounts;
}

/** Runs `yard … --json` and reads its lines, or its one document. */
async function yard(env: Readonly<Record<string, string>>, ...args: string[]) {
  const child = spawn(process.execPath, [yardMain, ...args, "--json"], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  child.stderr.resume();
  const ended = once(child, "close");
  const written: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) written.push(line);
  const [code] = await ended;
  const documents = written[0] === "{" ? [written.join("\n")] : written;
  return { code: Number(code), lines: documents.map((text): unknown => JSON.parse(text)) };
}

test("imports 2,000 skills of this machine, one line for each, and loses none silently [B32]", async () => {
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

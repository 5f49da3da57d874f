import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { CliError } from "../cli-error.ts";
import { collectingTerminal } from "../../test-fixtures/collecting-terminal.ts";
import { tempDirectory } from "../../test-fixtures/temp-directory.ts";
import { formatOf } from "../skills/archive-bytes.ts";
import { importSkills, scanSkills, validateSkills } from "./skills-import.ts";

/** A tar with one empty file, as POSIX has it. */
function tar(): Buffer {
  const header = Buffer.alloc(1_536);
  header.write("a/SKILL.md");
  header.write("0000644\0", 100);
  header.write("00000000000\0", 124);
  header.fill(" ", 148, 156);
  header.write("ustar\0", 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return header;
}

test("knows an archive by its bytes, and says of anything else that it is none", () => {
  assert.equal(formatOf(tar(), "it"), "tar");
  assert.equal(formatOf(Buffer.alloc(1_024), "it"), "tar");
  assert.equal(formatOf(gzipSync(tar()), "it"), "tar.gz");
  assert.equal(formatOf(Buffer.from("PK\u0003\u0004"), "it"), "zip");
  const xz = Buffer.concat([Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0]), Buffer.alloc(600, 7)]);
  for (const bytes of [Buffer.alloc(0), Buffer.from("# a skill\n"), xz, Buffer.alloc(600, 0x61)])
    assert.throws(
      () => formatOf(bytes, "it"),
      (error) => error instanceof CliError && error.code === "usage",
    );
});

/** A directory with one skill. */
async function withSkill(text: string): Promise<string> {
  const directory = join(tempDirectory(), "skills");
  await mkdir(join(directory, "greet"), { recursive: true });
  await writeFile(
    join(directory, "greet", "SKILL.md"),
    `---\nname: greet\ndescription: Greets a person.\n---\n${text}`,
  );
  return directory;
}

/** Simulates a machine without a running instance. */
async function withNothingRunning<T>(work: () => Promise<T>): Promise<T> {
  const before = process.env["YARD_STATE_DIR"];
  process.env["YARD_STATE_DIR"] = tempDirectory();
  try {
    return await work();
  } finally {
    if (before === undefined) delete process.env["YARD_STATE_DIR"];
    else process.env["YARD_STATE_DIR"] = before;
  }
}

const isError = (code: string) => (error: unknown) =>
  error instanceof CliError && error.code === code;
const HIDDEN = `Hidden${String.fromCodePoint(0xe0041)} text.`;

test("scan and validate need no server", async () => {
  await withNothingRunning(async () => {
    const { terminal, lines } = collectingTerminal();
    await scanSkills(terminal, await withSkill("Greet $ARGUMENTS."), {});
    assert.match(lines.join("\n"), /^clean {2}greet/);
    await assert.rejects(
      scanSkills(terminal, await withSkill(HIDDEN), {}),
      isError("skills_blocked"),
    );
    await validateSkills(terminal, await withSkill("Greet."), { target: "agent-skills" });
    assert.match(lines.join("\n"), /agent-skills: yes/);
  });
});

test("an import asks at severe findings and shows them, and no is no", async () => {
  await withNothingRunning(async () => {
    const { terminal, notes } = collectingTerminal();
    const asked: string[] = [];
    const saying = (answer: string | null) => ({
      ask(question: string) {
        asked.push(question);
        return Promise.resolve(answer);
      },
    });
    const sly = await withSkill(HIDDEN);
    for (const answer of ["", "n", null])
      await assert.rejects(importSkills(terminal, sly, {}, saying(answer)), isError("interrupted"));
    assert.equal(asked.length, 3);
    assert.match(asked[0] ?? "", /^1 skill with severe findings; import all the same\? \[y\/N\] $/);
    assert.match(notes.join("\n"), /blocked {2}greet\n {2}critical /);
    // An agreed or harmless import continues to the importer, which does not run here.
    await assert.rejects(importSkills(terminal, sly, {}, saying("y")), isError("not_running"));
    const good = await withSkill("Greet.");
    await assert.rejects(importSkills(terminal, good, {}, saying("n")), isError("not_running"));
    assert.equal(asked.length, 4);
  });
});

test("an import takes a path or a client, not both and not none", async () => {
  const { terminal } = collectingTerminal();
  await assert.rejects(importSkills(terminal, undefined, {}, null), isError("usage"));
  await assert.rejects(importSkills(terminal, "x", { from: "claude" }, null), isError("usage"));
});

import assert from "node:assert/strict";
import { join } from "node:path";
import { after, test } from "node:test";
import { connectBus } from "@switchyard/bus/connect";
import { serve } from "@switchyard/bus/serve";
import {
  checkSkills,
  listSkills,
  type CheckedSkill,
} from "@switchyard/contracts/skill-importer/skills";
import { testEnvironment } from "@switchyard/testing/test-environment";
import { testNats } from "@switchyard/testing/test-servers";
import { CliError, describeFailure } from "../cli-error.ts";
import type { Terminal } from "../terminal.ts";
import { list } from "./skill-listing.ts";
import { check } from "./skills.ts";

const good: CheckedSkill = {
  file: "good/SKILL.md",
  name: "good",
  loads: true,
  repaired: true,
  needsReview: false,
  conformance: [
    {
      target: "agent-skills",
      conforms: false,
      problems: [{ code: "invalid_yaml", message: "text must stand in quotes", line: 3 }],
    },
  ],
  diagnostics: [
    {
      severity: "warning",
      code: "repaired_quotes",
      message: "description: this text must be in quotes",
      file: "good/SKILL.md",
      line: 3,
      column: 14,
      patch: { line: 3, before: "description: a: b", after: "description: 'a: b'" },
    },
  ],
};
const bad: CheckedSkill = {
  ...good,
  file: "bad/SKILL.md",
  name: null,
  loads: false,
  repaired: false,
  conformance: [],
  diagnostics: [],
};

const nats = await testNats();
const bus = await connectBus({ servers: nats.url, user: "importer" });
after(() => bus.close());
const pages = new Map([
  ["/good", [good]],
  ["/both", [good, bad]],
]);
const faults: unknown[] = [];
after(() => assert.deepEqual(faults, []));
const service = serve(bus, {
  name: "importer",
  version: "0.0.0",
  description: "Answers checks",
  onFault: ({ error }) => faults.push(error),
});
service.handle(listSkills, () => ({ skills: [] }));
service.handle(checkSkills, ({ directory, offset }, { fail }) => {
  if (!pages.has(directory))
    throw fail.directory_not_allowed(`${directory} is in none of the roots`, {
      directory,
      roots: [],
    });
  const files = pages.get(directory) ?? [];
  const nextOffset = offset + 1 < files.length ? offset + 1 : null;
  const page = files.slice(offset, offset + 1);
  return Promise.resolve({ files: page, total: files.length, diagnostics: [], nextOffset });
});
await bus.flush();
testEnvironment({ YARD_NATS_URL: nats.url });

function recorder(): { terminal: Terminal; out: string[]; notes: string[] } {
  const out: string[] = [];
  const notes: string[] = [];
  const plain = (_style: unknown, text: string) => text;
  const terminal: Terminal = {
    env: process.env,
    out: (line) => void out.push(line),
    note: (line) => void notes.push(line),
    error: (line) => void notes.push(line),
    paintOut: plain,
    paintNote: plain,
  };
  return { terminal, out, notes };
}

test("shows what loads, what was repaired and how to fix it", async () => {
  const { terminal, out, notes } = recorder();
  await check(terminal, "/good", { target: "agent-skills" });
  assert.match(out[0] ?? "", /^FILE +LOADS +AGENT-SKILLS/);
  assert.match(out.at(-1) ?? "", /^good\/SKILL\.md +repaired +1 problem/);
  assert.deepEqual(notes, [
    "warning: good/SKILL.md:3: description: this text must be in quotes",
    "  - description: a: b",
    "  + description: 'a: b'",
    "good/SKILL.md:3: text must stand in quotes",
    "1 skill files: 1 load, 1 of them repaired; 0 do not",
  ]);
});

test("without any skill it explains how to make one [DR13]", async () => {
  const { terminal, out, notes } = recorder();
  await list(terminal, { scope: "all" });
  assert.deepEqual(out, []);
  assert.deepEqual(notes, [
    "no skill is imported",
    "make one: a folder in skills/ with a SKILL.md; see: ./yard help skills",
  ]);
});

test("reads every page, and fails when a file does not load", async () => {
  const { terminal, out } = recorder();
  const checked = check(terminal, "/both", { json: true });
  await assert.rejects(
    checked,
    (error) => error instanceof CliError && error.code === "skills_do_not_load",
  );
  const { data } = JSON.parse(out.join("\n")) as { data: { counts: unknown; files: unknown[] } };
  assert.deepEqual(data.counts, { found: 2, loaded: 1, skipped: 1, repaired: 1 });
  assert.deepEqual(data.files, [good, bad]);
});

test("a directory that is nowhere is mistyped, and one that is here is denied by the importer", async () => {
  const codeOf = (directory: string) =>
    check(recorder().terminal, directory, {}).catch(
      (error: unknown) => describeFailure(error).code,
    );
  assert.equal(await codeOf(join(import.meta.dirname, "no-such-directory")), "directory_missing");
  assert.equal(await codeOf(import.meta.dirname), "directory_not_allowed");
});

test("an unknown target is a mistake in the command", async () => {
  const { terminal } = recorder();
  await assert.rejects(
    check(terminal, "/good", { target: "cursor" }),
    (error) => error instanceof CliError && error.code === "usage",
  );
});

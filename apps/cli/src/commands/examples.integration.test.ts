import assert from "node:assert/strict";
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { shellWords } from "../../test-fixtures/shell-words.ts";
import { tempDirectory } from "../../test-fixtures/temp-directory.ts";
import { yard, yardDev, yardEnvironment } from "../../test-fixtures/yard-process.ts";
import { HOME } from "../locations.ts";
import { buildProgram } from "../program.ts";
import { examplesOf, leafCommands } from "../program/examples.ts";

const base = tempDirectory();
const here = join(base, "here");
const env = {
  ...yardEnvironment(join(base, "state")),
  HOME: base,
  XDG_CONFIG_HOME: join(base, "config"),
};
const dev = yardDev(["--project", join(HOME, "examples")], env);

/** Examples that name objects which this instance lacks; their commands are tested elsewhere, with those objects. */
const NOT_RUN: readonly (readonly [example: RegExp, why: string])[] = [
  [/[0-9A-Z]{26}|(?:apr|grt|key|q|whk)-[0-9a-f]{8}/, "an id of another installation"],
  [/^(?:dev|demo|chat|init|doctor|completion|acp|schedules|channels)\b/, "has a test of its own"],
  [/^mcp serve|^approvals watch|--follow$|^mcp resources subscribe/, "runs until it is stopped"],
  [/anthropic|\bresearcher\b|\breviewer\b/, "another model or agent"],
  [
    /^mcp (?:add|add-json|update|remove|enable|disable|connect|disconnect|login|logout)\b/,
    "another server",
  ],
  [
    /^mcp (?:import|export|cancel|prompts complete|messages)|^tools cancel/,
    "another client or call",
  ],
  [
    /^mcp pins (?:diff|approve|block)|^(?:mcp|tools) call|^mcp resources read|^mcp prompts get/,
    "what is to be allowed first",
  ],
  [
    /^policy (?:activate|rollback|replay)|^(?:agents|skills) (?:rollback|remove|diff|trust)/,
    "an older version",
  ],
  [/^context|^log(?:in|out)|^config set|^agents use/, "changes what later ones talk to"],
  [
    /^runs replay|^runs (?:answer|fork)|^skills run|^sessions|> audit\.ndjson$/,
    "another run or session",
  ],
  [/^skills import --from/, "the folders of another client"],
  [
    /^streams ensure --replicas|^keys (?:rotate|api rotate|api revoke)/,
    "a cluster, or keys of another directory",
  ],
  [/^policy import/, "policies in another language"],
  [/^mcp secret (?:set|delete)/, "a value from standard input"],
  [/^revoke/, "stops what other examples use"],
  [/^skills check/, "a directory of the importer"],
];

before(async () => {
  const template = join(HOME, "apps/cli/templates/minimal");
  mkdirSync(join(here, "agents"), { recursive: true });
  mkdirSync(join(here, "my-skills", "greet"), { recursive: true });
  writeFileSync(
    join(here, "my-skills", "greet", "SKILL.md"),
    "---\nname: greet\ndescription: Greets a person. Use when somebody is to be greeted.\n---\nGreet them.\n",
  );
  cpSync(join(template, "policies"), join(here, "policies"), { recursive: true });
  cpSync(join(HOME, "examples/triggers/triggers.yaml"), join(here, "triggers.yaml"));
  writeFileSync(
    join(here, "agents", "reviewer.md"),
    "---\nname: reviewer\ndescription: Reviews.\nmodel: scripted/plan\nplan: { answer: Done. }\n---\nYou review.\n",
  );
  await dev.printed("Ctrl-C stops everything");
});

test("every example of the help that names nothing foreign does what it says", async () => {
  const program = buildProgram("0.0.0", () => Promise.resolve());
  const examples = leafCommands(program).flatMap(({ path }) => examplesOf(path));
  for (const [pattern, why] of NOT_RUN)
    assert.ok(
      examples.some((line) => pattern.test(line)),
      `no example: ${why}`,
    );
  const own = examples.filter((line) => !NOT_RUN.some(([pattern]) => pattern.test(line)));
  assert.ok(own.length >= 40, `only ${own.length} are run`);
  const failed: string[] = [];
  for (const line of own) {
    const { code, stderr } = await yard(shellWords(line), env, here);
    if (code !== 0) failed.push(`${line}: ${code} ${stderr}`);
  }
  assert.deepEqual(failed, []);
});

test("an empty input, an unknown run and an unknown topic are said in words of the command line [D42]", async () => {
  const empty = await yard(["run", "demo", " "], env);
  assert.equal(empty.code, 2);
  assert.match(empty.stderr, /^error: the input is empty: /);
  const cancelled = await yard(["runs", "cancel", "nope"], env);
  assert.equal(cancelled.code, 3);
  assert.match(cancelled.stdout, /^this run is unknown/);
  assert.match((await yard(["help", "exit-codes"], env)).stdout, /^Exit codes: /);
  assert.match((await yard(["help", "runs", "list"], env)).stdout, /^Usage: yard runs list /);
  assert.equal((await yard(["help", "nonsense"], env)).code, 2);
});

test("a run that failed at a limit is not retried with the same one", async () => {
  const run = await yard(["run", "demo", "hi", "--max-steps", "1"], env);
  assert.equal(run.code, 1, run.stderr);
  const same = await yard(["runs", "retry", "last"], env);
  assert.equal(same.code, 1);
  assert.match(
    same.stderr,
    /the run failed at a limit: .*maxSteps.*\n.*runs retry \S+ --max-steps/,
  );
  const more = await yard(["runs", "retry", "last", "--max-steps", "50"], env);
  assert.deepEqual([more.code, more.stdout], [0, "the run continues\n"], more.stderr);
});

test("lists show ages, and times with --wide", async () => {
  const time = /\d{4}-\d\d-\d\dT/;
  const ages = await yard(["runs", "list"], env);
  assert.match(ages.stdout, / \d+[smh]$/m);
  assert.doesNotMatch(ages.stdout, time);
  assert.match((await yard(["runs", "list", "--wide"], env)).stdout, time);
});

test("a Markdown file beside agents that is none is named", async () => {
  writeFileSync(join(here, "agents", "x.md"), "You review.\n");
  const { stdout, stderr } = await yard(["agents", "validate", join(here, "agents")], env);
  assert.match(stdout, /agents\/reviewer\.md +reviewer/);
  assert.match(stderr, /warning: agents\/x\.md: the file is left out: it has no frontmatter/);
});

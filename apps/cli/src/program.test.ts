import assert from "node:assert/strict";
import { test } from "node:test";
import { LogLevel } from "@switchyard/contracts/mcp-broker/mcp-features";
import { TotalsRange } from "@switchyard/contracts/agent-runner/run-totals";
import { OnLimit, RunOrder } from "@switchyard/contracts/agent-runner/runs";
import { BusyPolicy, SessionKind } from "@switchyard/contracts/agent-runner/session-key";
import { JobCatchUp, JobOverlap, WakeMode } from "@switchyard/contracts/scheduler/schedules";
import { SkillScope } from "@switchyard/contracts/skill-importer/skills";
import { ThinkingLevel } from "@switchyard/contracts/agent-runner/thinking";
import { CommanderError, type Command } from "commander";
import { buildProgram } from "./program.ts";
import {
  BUSY_POLICIES,
  JOB_CATCH_UPS,
  JOB_OVERLAPS,
  RUN_ORDERS,
  TOTALS_RANGES,
  LIMIT_ENDS,
  LOG_LEVELS,
  SESSION_KINDS,
  SKILL_SCOPES,
  THINKING_LEVELS,
  WAKE_MODES,
} from "./program/command-options.ts";
import { leadingOptionsLast } from "./program/global-options.ts";
import { examplesOf, leafCommands } from "./program/examples.ts";
import { parseCommandLine } from "../test-fixtures/parse-command-line.ts";
import { shellWords } from "../test-fixtures/shell-words.ts";

const parse = parseCommandLine;

function silence(command: Command): void {
  command.configureOutput({ writeOut: () => {}, writeErr: () => {} });
  for (const child of command.commands) silence(child);
}

function helpOf(words: readonly string[]): string {
  let help = "";
  let command: Command | undefined = buildProgram("0.0.0", () => Promise.resolve());
  for (const word of words) command = command?.commands.find((child) => child.name() === word);
  command?.configureOutput({ writeOut: (text) => void (help += text) }).outputHelp();
  return help;
}

const isUsageError = (error: unknown): boolean =>
  error instanceof CommanderError && error.exitCode !== 0;

test("every command has --json and a description", () => {
  for (const { command } of leafCommands(buildProgram("0.0.0", () => Promise.resolve()))) {
    assert.ok(
      command.options.some(({ long }) => long === "--json"),
      `${command.name()} has no --json`,
    );
    assert.notEqual(command.description(), "", command.name());
  }
});

test("refuses unknown commands, unknown options and missing arguments", async () => {
  await assert.rejects(parse("nope"), isUsageError);
  await assert.rejects(parse("run", "demo", "hi", "--nope"), isUsageError);
  await assert.rejects(parse("run", "demo"), isUsageError);
  await assert.rejects(parse("keys", "init"), isUsageError);
});

test("behind a command --version is the command's own", async () => {
  const given: unknown[] = [];
  for (const { command, path } of leafCommands(buildProgram("0.0.0", () => Promise.resolve()))) {
    if (!command.options.some(({ long }) => long === "--version")) continue;
    const program = buildProgram("0.0.0", (options) => {
      given.push("version" in options ? options.version : null);
      return Promise.resolve();
    });
    silence(program);
    await program.parseAsync([...path.split(" "), "x", "--version", "v"], { from: "user" });
  }
  assert.ok(given.length >= 3);
  assert.deepEqual(new Set(given), new Set(["v"]));
  await assert.rejects(parse("--version"), { code: "commander.version" });
});

test("refuses numbers that are none or out of range", async () => {
  for (const value of ["0", "65536", "-1", "1.5", "1e3", "x", ""]) {
    await assert.rejects(parse("dev", "--nats-port", value), isUsageError, value);
  }
  await parse("dev", "--nats-port", "4222", "--runners", "2");
});

test("refuses a label without a name", async () => {
  await assert.rejects(parse("run", "demo", "hi", "--label", "team"), isUsageError);
  await assert.rejects(parse("run", "demo", "hi", "--label", "=a"), isUsageError);
  await parse("run", "demo", "hi", "--label", "team=a", "--label", "note=x=y");
});

test("the help has the exit codes", () => {
  const help = helpOf([]);
  assert.match(help, /6 NATS, Redis or a service is down/);
});

test("the help of every command ends with an example that the command takes", async () => {
  const taken: string[] = [];
  for (const { path } of leafCommands(buildProgram("0.0.0", () => Promise.resolve()))) {
    const examples = examplesOf(path);
    assert.ok(examples.length > 0, `yard ${path} has no example`);
    for (const example of examples) {
      await assert.doesNotReject(parse(...shellWords(example)), example);
      taken.push(example);
    }
  }
  assert.equal(new Set(taken).size, taken.length, "an example of two commands");
  const help = helpOf(["mcp", "call"]);
  assert.match(help, /Example:\n {2}\.\/yard mcp call files read_text_file/);
});

test("every command has the global options, and none means two things", () => {
  for (const { path, command } of leafCommands(buildProgram("0.0.0", () => Promise.resolve()))) {
    const options = command.options.map(({ long }) => long);
    assert.equal(new Set(options).size, options.length, path);
    for (const name of ["--no-color", "--quiet", "--verbose", "--context", "--yes"])
      assert.ok(options.includes(name), `${path} has no ${name}`);
  }
  assert.match(helpOf(["runs", "list"]), /Global options:\n {2}--no-color/);
});

test("global options may stand before the command", () => {
  const moved = (line: string) => leadingOptionsLast(line.split(" ")).join(" ");
  assert.equal(moved("--json --timeout 5 runs list"), "runs list --json --timeout 5");
  assert.equal(moved("--context=work mcp add x -- npx y"), "mcp add x --context=work -- npx y");
  assert.equal(moved("runs list --json"), "runs list --json");
  assert.equal(moved("--json"), "--json");
});

test("the words of options are those of the contracts", () => {
  assert.deepEqual(RUN_ORDERS, RunOrder.options);
  assert.deepEqual(TOTALS_RANGES, TotalsRange.options);
  assert.deepEqual(BUSY_POLICIES, BusyPolicy.options);
  assert.deepEqual(LIMIT_ENDS, OnLimit.options);
  assert.deepEqual(SESSION_KINDS, SessionKind.options);
  assert.deepEqual(SKILL_SCOPES, SkillScope.options);
  assert.deepEqual(WAKE_MODES, WakeMode.options);
  assert.deepEqual(JOB_OVERLAPS, JobOverlap.options);
  assert.deepEqual(JOB_CATCH_UPS, JobCatchUp.options);
  assert.deepEqual(LOG_LEVELS, LogLevel.options);
  assert.deepEqual(THINKING_LEVELS, ThinkingLevel.options);
});

test("the help fits a screen of 60 columns, and no description is lost", () => {
  const words = (text: string): string => text.replaceAll(/\s+/g, " ");
  for (const { path, command } of leafCommands(buildProgram("0", () => Promise.resolve()))) {
    command.configureOutput({ getOutHelpWidth: () => 60 });
    const lines = command.helpInformation().split("\n");
    assert.deepEqual(
      lines.filter((line) => line.length > 60 && !line.startsWith("Usage:")),
      [],
      path,
    );
    for (const { description } of command.options)
      assert.ok(words(lines.join(" ")).includes(words(description)), `${path}: ${description}`);
  }
});

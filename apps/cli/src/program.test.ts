import assert from "node:assert/strict";
import { test } from "node:test";
import { CommanderError, type Command } from "commander";
import { buildProgram } from "./program.ts";

function parse(...args: string[]): Promise<unknown> {
  const program = buildProgram("0.0.0", () => Promise.resolve());
  silence(program);
  return program.parseAsync(args, { from: "user" });
}

function silence(command: Command): void {
  command.configureOutput({ writeOut: () => {}, writeErr: () => {} });
  for (const child of command.commands) silence(child);
}

function allCommands(command: Command): Command[] {
  return command.commands.length === 0
    ? [command]
    : command.commands.flatMap((child) => allCommands(child));
}

const isUsageError = (error: unknown): boolean =>
  error instanceof CommanderError && error.exitCode !== 0;

test("every command has --json and a description", () => {
  for (const command of allCommands(buildProgram("0.0.0", () => Promise.resolve()))) {
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
  let help = "";
  const program = buildProgram("0.0.0", () => Promise.resolve());
  program.configureOutput({ writeOut: (text) => void (help += text) });
  program.outputHelp();
  assert.match(help, /6 NATS, Redis or a service is down/);
});

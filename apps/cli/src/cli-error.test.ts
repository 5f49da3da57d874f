import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ServiceError } from "@switchyard/contracts/errors";
import { CliError, describeFailure, reportFailure } from "./cli-error.ts";
import { EXIT } from "./exit-codes.ts";
import { collectingTerminal } from "../test-fixtures/collecting-terminal.ts";

test("an error of ours is its message and its next command, without a stack", () => {
  const { terminal, notes, lines } = collectingTerminal();
  const error = new CliError("not_running", "Switchyard does not run here", { hint: "./yard dev" });
  assert.equal(reportFailure(terminal, error, false), EXIT.dependencyDown);
  assert.deepEqual(notes, ["error: Switchyard does not run here", "  → ./yard dev"]);
  assert.deepEqual(lines, []);
});

test("a declared error names what exists instead", () => {
  const error = new ServiceError("unknown_agent", "there is no agent x", {
    data: { name: "x", known: ["coder", "demo"] },
  });
  assert.deepEqual(describeFailure(error), {
    code: "unknown_agent",
    message: "there is no agent x",
    hint: "known: coder, demo",
    stack: null,
    exitCode: EXIT.notFound,
  });
});

test("with --json a failure is one document on stderr", () => {
  const { terminal, notes, lines } = collectingTerminal();
  reportFailure(terminal, new ServiceError("denied", "no"), true);
  assert.equal(notes.length, 1);
  assert.deepEqual(JSON.parse(notes[0] ?? ""), {
    schemaVersion: 1,
    error: {
      code: "denied",
      message: "no",
      hint: "the rules decide this; for a tool, see why with: ./yard policy explain TOOL",
    },
  });
  assert.deepEqual(lines, []);
});

test("an unexpected failure shows its stack and requests a report", () => {
  const report = describeFailure(new TypeError("x is undefined"));
  assert.equal(report.exitCode, EXIT.failed);
  assert.match(report.stack ?? "", /TypeError: x is undefined/);
  assert.match(report.hint ?? "", /report/);
});

test("escape sequences in a server's message do not reach the terminal", () => {
  const { terminal, notes } = collectingTerminal();
  reportFailure(terminal, new ServiceError("tool_failed", "bad \u001B[2J"), false);
  assert.ok(notes.every((note) => !note.includes("\u001B")));
});

test("a file that is not there or may not be used is named, with what to do", () => {
  const missing = catching(() => readFileSync("/does/not/exist"));
  assert.deepEqual(describeFailure(missing), {
    code: "file_missing",
    message: "there is no /does/not/exist",
    hint: "check the name and the directory that the command runs in",
    stack: null,
    exitCode: EXIT.notFound,
  });
  const belowAFile = join(import.meta.filename, "below");
  const refused = describeFailure(catching(() => readFileSync(belowAFile)));
  assert.equal(refused.code, "file_refused");
  assert.equal(refused.exitCode, EXIT.failed);
  assert.equal(refused.message, `${belowAFile} cannot be used (ENOTDIR)`);
});

test("a program that cannot be started is an unexpected failure", () => {
  const { error } = spawnSync("/does/not/exist");
  assert.equal(describeFailure(error).code, "internal");
});

function catching(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  return null;
}

test("a message names services and requests, and no subject of NATS", () => {
  const subject = "yard.rpc.cli.runs.list";
  const missing = new ServiceError("no_responders", `nobody answers ${subject}: nothing owns this`);
  assert.match(describeFailure(missing).message, /^the service runner does not answer/);
  const slow = new ServiceError("timeout", `no answer to ${subject} within 5000 ms; it may have`);
  assert.match(describeFailure(slow).message, /^no answer to runs\.list within 5000 ms/);
  const command = new ServiceError(
    "forbidden",
    "user a may not publish yard.cmd.a.run.start.demo: x",
  );
  assert.match(describeFailure(command).message, /may not publish run\.start\.demo: x$/);
});

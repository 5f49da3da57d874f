import assert from "node:assert/strict";
import { test } from "node:test";
import { startRun } from "@switchyard/contracts/agent-runner/runs";
import { collectingTerminal } from "../../test-fixtures/collecting-terminal.ts";
import { CliError } from "../cli-error.ts";
import { EXIT } from "../exit-codes.ts";
import { commandOf } from "./run.ts";
import { conclude } from "./run-to-end.ts";

test("the command fits its contract, with all options and with none", () => {
  const all = {
    inputJson: true,
    model: "openai/gpt",
    skill: "x",
    label: { team: "a" },
    maxTime: 60,
  } as const;
  assert.ok(startRun.payload.safeParse(commandOf('{"path":"a"}', all)).success);
  const plain = commandOf("hello", { label: {} });
  assert.deepEqual(Object.keys(plain).toSorted(), ["input", "runId"]);
  assert.ok(startRun.payload.safeParse(plain).success);
});

test("the limits of the options are those of the command", () => {
  const options = { maxSteps: 2, maxCost: 0.5, maxRepeatedCalls: 3, maxTime: 60 } as const;
  const command = commandOf("hello", { ...options, onLimit: "pause", label: {} });
  const limits = { maxSteps: 2, maxCostUsd: 0.5, maxRepeatedCalls: 3, timeoutMs: 60_000 };
  assert.deepEqual(command.limits, { ...limits, onLimit: "pause" });
  assert.ok(startRun.payload.safeParse(command).success);
});

test("without --input-json the input stays text, whatever it looks like", () => {
  assert.equal(commandOf('{"a":1}', { label: {} }).input, '{"a":1}');
});

test("--input-json refuses what is not valid JSON object", () => {
  for (const input of ["[1]", "null", '"text"', "{"]) {
    assert.throws(
      () => commandOf(input, { inputJson: true, label: {} }),
      (error: unknown) => error instanceof CliError && error.code === "usage",
    );
  }
});

test("the answer goes to stdout and a failure to stderr", () => {
  const good = collectingTerminal();
  assert.equal(
    conclude(good.terminal, { end: "finished", output: "42", isWhole: true }, false),
    EXIT.ok,
  );
  assert.deepEqual([good.lines, good.notes], [["42"], []]);

  const bad = collectingTerminal();
  const end = { end: "failed", code: "model_error", message: "no key" } as const;
  assert.equal(conclude(bad.terminal, end, false), EXIT.failed);
  assert.deepEqual([bad.lines, bad.notes], [[], ["error: the run failed: no key"]]);
});

test("a run that was cancelled is a failure that says by whom", () => {
  const { terminal, notes } = collectingTerminal();
  const end = { end: "cancelled", code: "cancelled", message: "by cli: enough" } as const;
  assert.equal(conclude(terminal, end, false), EXIT.failed);
  assert.deepEqual(notes, ["error: the run was cancelled: by cli: enough"]);
});

test("an unknown agent is 3; a run that failed by a denial or a timeout is still 1", () => {
  const exitOf = (code: string): number =>
    conclude(collectingTerminal().terminal, { end: "rejected", code, message: "m" }, false);
  assert.equal(exitOf("unknown_agent"), EXIT.notFound);
  assert.equal(exitOf("denied"), EXIT.failed);
  assert.equal(exitOf("timeout"), EXIT.failed);
});

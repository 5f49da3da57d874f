import assert from "node:assert/strict";
import { test } from "node:test";
import { madeRunId, namedRunId, readCommand } from "./run-command.ts";

const message = {
  subject: "yard.cmd.cli.run.start.demo",
  streamSequence: 7,
  publishedAt: new Date("2026-01-01T00:00:00.000Z"),
  caller: "cli",
  messageId: null,
};

test("gives every delivery of one message the same generated run id, and another message another one", () => {
  assert.equal(
    madeRunId(message),
    madeRunId({ ...message, publishedAt: new Date(message.publishedAt) }),
  );
  assert.notEqual(madeRunId(message), madeRunId({ ...message, streamSequence: 8 }));
  assert.notEqual(madeRunId(message), madeRunId({ ...message, publishedAt: new Date(0) }));
  assert.match(madeRunId(message), /^cli~run-[0-9a-f]{26}$/);
});

test("distinguishes commands under one run id by everything that they request", () => {
  const digest = (change: Partial<typeof message>, agent: string, payload: object): string => {
    const start = { runId: "r", input: "x", ...payload };
    const read = readCommand({ ...message, ...change }, agent, start);
    assert.ok("command" in read);
    return read.command.digest;
  };
  const same = digest({}, "demo", {});
  assert.equal(digest({ streamSequence: 9, publishedAt: new Date(0) }, "demo", {}), same);
  for (const other of [
    digest({ caller: "me" }, "demo", {}),
    digest({}, "other", {}),
    digest({}, "demo", { input: "y" }),
    digest({}, "demo", { labels: { a: "b" } }),
  ]) {
    assert.notEqual(other, same);
  }
});

test("finds the run that a refused payload names, and for a copy the new run", () => {
  const cases: [unknown, string | null][] = [
    [{ runId: "r1" }, "r1"],
    [{ newRunId: "r2", fromStep: 0 }, "r2"],
    [{ runId: "no id" }, null],
    [{ newRunId: 7 }, null],
    [{}, null],
    ["r1", null],
    [null, null],
  ];
  for (const [payload, expected] of cases) assert.equal(namedRunId(payload), expected);
});

test("refuses a model beside a recording, which would have no effect", () => {
  const replay = { version: 1 as const, answers: [], summaries: [] };
  const payload = { input: "x", replay, model: "scripted/plan" };
  const read = readCommand(message, "demo", payload);
  assert.ok("rejection" in read);
  assert.equal(read.rejection.code, "invalid_command");
  assert.match(read.rejection.problems.join(), /^model: /);
  assert.ok("command" in readCommand(message, "demo", { input: "x", replay }));
});

test("rejects onBusy without a session, and explains what happens there", () => {
  const payload = { input: "x", onBusy: "steer" as const };
  const read = readCommand(message, "demo", payload);
  assert.ok("rejection" in read);
  assert.match(read.rejection.problems.join(), /^onBusy: /);
  const inSession = { ...payload, session: "support" };
  assert.ok("command" in readCommand(message, "demo", inSession));
});

test("refuses a subject whose tokens cannot be names", () => {
  const read = readCommand({ ...message, caller: "CLI" }, "_demo", { input: "x" });
  assert.ok("rejection" in read);
  assert.equal(read.rejection.code, "invalid_command");
  assert.equal(read.rejection.problems.length, 2);
});

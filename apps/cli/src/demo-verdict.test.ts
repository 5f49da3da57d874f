import assert from "node:assert/strict";
import { test } from "node:test";
import {
  toolCompleted,
  toolDenied,
  toolFailed,
} from "@switchyard/contracts/agent-runner/run-events";
import { storedEvent } from "../test-fixtures/stored-event.ts";
import { judgeDemo } from "./demo-verdict.ts";

const finished = { end: "finished", output: "answer", isWhole: true } as const;
const read = storedEvent(toolCompleted, { tool: "mcp__files__read_text_file" });
const denied = (tool: string): ReturnType<typeof storedEvent> =>
  storedEvent(toolDenied, { tool, decision: { effect: "deny", rule: "no-writes", reason: "no" } });
const write = denied("mcp__files__write_file");

function problems(...input: Parameters<typeof judgeDemo>): readonly string[] {
  const verdict = judgeDemo(...input);
  return verdict.passed ? [] : verdict.problems;
}

test("passes when the run finished, a read was allowed and exactly the write was denied", () => {
  assert.deepEqual(judgeDemo([read, write], finished), {
    passed: true,
    allowed: 1,
    rule: "no-writes",
  });
});

test("fails when the write was not denied, and when it was executed", () => {
  assert.deepEqual(problems([read], finished), ["mcp__files__write_file was not denied"]);
  const executed = storedEvent(toolCompleted, { tool: "mcp__files__write_file" });
  assert.deepEqual(problems([read, executed], finished), [
    "mcp__files__write_file was not denied",
    "mcp__files__write_file was executed",
  ]);
});

test("fails when anything else was denied or failed", () => {
  assert.deepEqual(problems([read, denied("mcp__files__read_text_file"), write], finished), [
    "mcp__files__read_text_file was denied: no",
  ]);
  const failed = storedEvent(toolFailed, {
    tool: "mcp__x__y",
    code: "server_down",
    message: "down",
  });
  assert.deepEqual(problems([read, write, failed], finished), [
    "mcp__x__y failed (server_down): down",
  ]);
});

test("fails when the run failed, was rejected or did not end", () => {
  const failure = { end: "failed", code: "internal", message: "broken" } as const;
  assert.deepEqual(problems([read, write], failure), ["the run failed: broken"]);
  assert.deepEqual(problems([read, write], null), ["the run did not end in time"]);
});

test("fails when no call worked", () => {
  const wrong = storedEvent(toolCompleted, { isError: true });
  assert.deepEqual(problems([wrong, write], finished), ["no tool call was allowed and worked"]);
});

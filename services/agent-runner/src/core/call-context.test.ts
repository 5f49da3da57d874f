import assert from "node:assert/strict";
import { test } from "node:test";
import { CallContext } from "@switchyard/contracts/agent-runner/call-context";
import { startedEntry } from "../../test-fixtures/journals.ts";
import { callContextOf } from "./call-context.ts";
import type { EntryOf, JournalEntry } from "./journal-entry.ts";
import { replay } from "./replay.ts";

const at = "2026-01-01T00:00:01.000Z";
const key = ["AK", "IA", "Q3".repeat(8)].join("");

function answer(step: number, text: string, inputs: readonly object[]): EntryOf<"model-responded"> {
  const calls = inputs.map((input, index) => ({
    type: "tool-call" as const,
    callId: `r1:${step}:${index}`,
    toolCallId: `c-${step}-${index}`,
    tool: `tool-${step}-${index}`,
    input,
  }));
  return {
    kind: "model-responded",
    at,
    step,
    content: [{ type: "reasoning", text: "a private thought" }, { type: "text", text }, ...calls],
    usage: { inputTokens: 1, outputTokens: 1 },
    finishReason: "tool-calls",
    servedModel: "m",
    durationMs: 0,
  };
}

function completed(callId: string, text: string, isError = false): JournalEntry {
  const about = { textBytes: text.length, durationMs: 0, replayed: false, skill: null };
  return { kind: "tool-completed", at, callId, text, isError, decision: null, ...about };
}

test("an approver is shown agent, requester, input, the last text and the calls around, and nothing else", () => {
  const state = replay([
    startedEntry({ input: "pay the bill", instructions: "a system prompt", requester: "ann" }),
    answer(1, "I look at the bill first.", [{ path: "bill.txt" }]),
    completed("r1:1:0", "42 dollars"),
    answer(2, "", [{ to: "shop" }, { path: "other.txt" }]),
  ]);
  const context = callContextOf(state, "r1:2:0");
  assert.deepEqual(context, {
    agent: "tester",
    requester: "ann",
    input: "pay the bill",
    modelText: "I look at the bill first.",
    calls: [
      {
        tool: "tool-1-0",
        argsPreview: '{"path":"bill.txt"}',
        outcome: "done",
        preview: "42 dollars",
      },
      { tool: "tool-2-1", argsPreview: '{"path":"other.txt"}', outcome: "open", preview: "" },
    ],
    earlierCalls: 0,
  });
  assert.equal(callContextOf(state, "r1:9:9"), null);
});

test("entries after the call are no part of its context", () => {
  const state = replay([
    startedEntry(),
    answer(1, "before", [{ n: 1 }]),
    completed("r1:1:0", "one", true),
    answer(2, "after", [{ n: 2 }]),
  ]);
  const context = callContextOf(state, "r1:1:0");
  assert.equal(context?.modelText, "before");
  assert.deepEqual(context?.calls, []);
  assert.equal(callContextOf(state, "r1:2:0")?.calls[0]?.outcome, "error");
});

test("texts of a context are cut, have no secrets, and show what is left out", () => {
  const long = `${key} ${"x".repeat(50_000)}`;
  const many = Array.from({ length: 14 }, (_, n) => ({ n, note: key, clientSecret: "opensesame" }));
  const state = replay([
    startedEntry({ input: { password: "opensesame", text: long } }),
    answer(1, `\u202egnorw\u202c ${long}`, many),
    completed("r1:1:0", long),
  ]);
  const context = callContextOf(state, "r1:1:13");
  assert.ok(context !== null);
  assert.deepEqual(CallContext.parse(context), context);
  const text = JSON.stringify(context);
  assert.doesNotMatch(text, new RegExp(`${key}|opensesame`));
  assert.ok(context.modelText.startsWith("\\u{202e}gnorw\\u{202c} [redacted]"));
  assert.ok(context.input.endsWith("…") && context.modelText.endsWith("…"));
  assert.ok(text.length < 40_000, String(text.length));
  assert.deepEqual([context.calls.length, context.earlierCalls], [10, 3]);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { journals, startedEntry } from "../../test-fixtures/journals.ts";
import { conversationOf } from "./conversation.ts";
import { decodeEntry, encodeEntry } from "./entry-codec.ts";
import type { JournalEntry } from "./journal-entry.ts";
import { nextAction } from "./next-action.ts";
import { applyEntry, replay, startOf } from "./replay.ts";
import { JournalCorrupt, openCalls } from "./run-state.ts";

const AT = "2026-01-01T00:00:01.000Z";

test("replaying leads to the same state as running", () => {
  fc.assert(
    fc.property(journals, (entries) => {
      const [first, ...rest] = entries;
      assert.ok(first?.kind === "started");
      let running = startOf(first);
      for (const [index, entry] of rest.entries()) {
        running = applyEntry(running, entry);
        const stored = entries
          .slice(0, index + 2)
          .map((each) => decodeEntry(encodeEntry(each).json, new Map(encodeEntry(each).blobs)));
        assert.deepEqual(replay(stored), running);
      }
    }),
    { numRuns: 50 },
  );
});

test("never repeats a finished model or tool call, wherever a runner stopped", () => {
  fc.assert(
    fc.property(journals, (entries) => {
      for (let length = 1; length <= entries.length; length += 1) {
        const prefix = entries.slice(0, length);
        const state = replay(prefix);
        const action = nextAction(state, Date.parse(AT));
        if (action.action === "call-model") {
          assert.ok(
            !prefix.some((entry) => entry.kind === "model-responded" && entry.step === action.step),
          );
          assert.equal(openCalls(state).length, 0);
        }
        if (action.action === "call-tools") {
          const done = new Set(prefix.flatMap((entry) => (isResult(entry) ? [entry.callId] : [])));
          assert.ok(action.calls.every((call) => !done.has(call.part.callId)));
        }
      }
    }),
  );
});

test("gives every tool call of the conversation exactly one result before the model is called", () => {
  fc.assert(
    fc.property(journals, (entries) => {
      for (let length = 1; length <= entries.length; length += 1) {
        const state = replay(entries.slice(0, length));
        if (nextAction(state, Date.parse(AT)).action !== "call-model") continue;
        const messages = conversationOf(state);
        const parts = messages.flatMap(
          ({ content }): readonly { type: string; toolCallId?: string }[] =>
            Array.isArray(content) ? content : [],
        );
        const ids = (type: string) =>
          parts.flatMap((part) => (part.type === type ? [part.toolCallId] : []));
        assert.deepEqual(ids("tool-result"), ids("tool-call"));
      }
    }),
  );
});

test("ends every run: by an answer, or at a limit", () => {
  fc.assert(
    fc.property(journals, (entries) => {
      const { end, turns, started } = replay(entries);
      assert.notEqual(end, null);
      assert.ok(turns.length <= started.limits.maxSteps);
    }),
  );
});

test("refuses journals that no runner can have written", () => {
  const started = startedEntry();
  const answer: JournalEntry = {
    kind: "model-responded",
    at: AT,
    step: 1,
    content: [{ type: "tool-call", callId: "r1:1:0", toolCallId: "c", tool: "t", input: {} }],
    usage: { inputTokens: 1, outputTokens: 1 },
    finishReason: "tool-calls",
    servedModel: "m",
    durationMs: 0,
  };
  const failed: JournalEntry = {
    kind: "tool-failed",
    at: AT,
    callId: "r1:1:0",
    code: "x",
    message: "y",
  };
  const end: JournalEntry = { kind: "finished", at: AT, output: "" };
  const asked: JournalEntry = { kind: "cancel-requested", at: AT, by: "cli", reason: null };
  const retried: JournalEntry = {
    kind: "retried",
    at: AT,
    by: "cli",
    limits: {},
    streamSequence: 1,
  };
  const corrupt: JournalEntry[][] = [
    [],
    [end],
    [started, started],
    [started, { ...answer, step: 2 }],
    [started, answer, { ...answer, step: 2 }],
    [started, failed],
    [started, answer, failed, failed],
    [started, end, end],
    [started, { kind: "cancelled", at: AT }],
    [started, asked, end],
    [started, asked, answer],
    [started, answer, asked, { kind: "tool-dispatched", at: AT, callId: "r1:1:0" }],
    [started, answer, asked, { kind: "cancelled", at: AT }],
    [started, retried],
    [started, end, retried],
  ];
  for (const entries of corrupt) assert.throws(() => replay(entries), JournalCorrupt);
});

function isResult(
  entry: JournalEntry,
): entry is Extract<JournalEntry, { kind: `tool-${"completed" | "denied" | "failed"}` }> {
  return ["tool-completed", "tool-denied", "tool-failed"].includes(entry.kind);
}

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { journals, startedEntry } from "../../test-fixtures/journals.ts";
import type { JournalEntry } from "./journal-entry.ts";
import { applyEntry, replay, startOf } from "./replay.ts";
import { openCalls, type RunState } from "./run-state.ts";
import { conversationOf } from "./conversation.ts";
import { compactionPoint, transcriptOf } from "./compaction.ts";

/** Returns a run of so many answers with one call each, whose result has so many characters. */
function runOf(turns: number, size: number, character = "x"): RunState {
  let state = startOf(startedEntry({ prompt: "Count the files." }));
  for (let step = 1; step <= turns; step += 1) {
    for (const entry of turnOf(step, size, character)) state = applyEntry(state, entry);
  }
  return state;
}

function turnOf(step: number, size: number, character: string): JournalEntry[] {
  const callId = `r1:${step}:0`;
  const { at } = startedEntry();
  return [
    {
      kind: "model-responded",
      at,
      step,
      content: [
        { type: "tool-call", callId, toolCallId: callId, tool: "mcp__lab__ls", input: { step } },
      ],
      usage: { inputTokens: 1, outputTokens: 1 },
      finishReason: "tool-calls",
      servedModel: "m",
      durationMs: 1,
    },
    {
      kind: "tool-completed",
      at,
      callId,
      text: character.repeat(size),
      textBytes: size,
      isError: false,
      decision: null,
      durationMs: 1,
      replayed: false,
      skill: null,
    },
  ];
}

function compact(state: RunState, upTo: number): RunState {
  return applyEntry(state, {
    kind: "compacted",
    at: state.updatedAt,
    upTo,
    summary: "THE SUMMARY",
    usage: { inputTokens: 5, outputTokens: 5 },
    model: "scripted/plan",
    costUsd: 0,
  });
}

test("leaves a conversation unchanged that has room, and compacts one that has not", () => {
  const state = runOf(20, 1_000);
  assert.equal(compactionPoint(state, { windowTokens: 100_000, toolChars: 0 }), null);
  const upTo = compactionPoint(state, { windowTokens: 8_000, toolChars: 0 });
  assert.ok(upTo !== null && upTo > 10 && upTo < 20, String(upTo));
  const smaller = compact(state, upTo);
  assert.equal(compactionPoint(smaller, { windowTokens: 8_000, toolChars: 0 }), null);
  const said = JSON.stringify(conversationOf(smaller));
  assert.match(said, /Count the files\..*THE SUMMARY/);
  assert.ok(said.includes("r1:20:0") && !said.includes("r1:1:0"));
  assert.equal(smaller.usage.inputTokens, 25, "a summary is paid for like a step");
});

test("keeps the last answer whatever its size, and never summarises the same answers twice", () => {
  assert.equal(compactionPoint(runOf(1, 60_000), { windowTokens: 2_000, toolChars: 0 }), null);
  const two = runOf(2, 60_000);
  assert.equal(compactionPoint(two, { windowTokens: 2_000, toolChars: 0 }), 1);
  assert.equal(compactionPoint(compact(two, 1), { windowTokens: 2_000, toolChars: 0 }), null);
});

test("puts the task, the previous summary and a record that fits into the summary request", () => {
  const state = compact(runOf(30, 5_000), 10);
  const record = transcriptOf(state, { upTo: 25, windowTokens: 4_000 });
  assert.ok(record.length <= 4_000 * 3 * 0.5 + 200, String(record.length));
  assert.match(record, /^The task:\nCount the files\.\nSummary of the work before:\nTHE SUMMARY/);
  assert.match(record, /\[the beginning is left out\]/);
  assert.match(record, /call mcp__lab__ls \{"step":25\}/);
  assert.doesNotMatch(record, /"step":26/);
});

test("a record of emoji is cut between characters, wherever its limits lie", () => {
  for (const windowTokens of [1_000, 1_001, 1_002, 1_003])
    for (const prefix of ["", "a"]) {
      const state = runOf(10, 3_000, `${prefix}😀`);
      const record = transcriptOf(state, { upTo: 9, windowTokens });
      assert.match(record, /the beginning is left out/);
      assert.ok(record.isWellFormed() && !record.includes("\ufffd"), `${windowTokens}`);
    }
});

test("a compacted conversation still has a result for every call", () => {
  fc.assert(
    fc.property(journals, fc.nat(), (entries, drawn) => {
      const state = replay(entries);
      if (state.end !== null || state.turns.length < 2 || openCalls(state).length > 0) return;
      if (state.cancellation !== null) return;
      const upTo = 1 + (drawn % (state.turns.length - 1));
      const messages = conversationOf(compact(state, upTo));
      type Part = { readonly type: string; readonly toolCallId?: string };
      const parts = messages.flatMap(({ content }): readonly Part[] =>
        typeof content === "string" ? [] : content,
      );
      const idsOf = (type: string) =>
        parts.flatMap((part) =>
          part.type === type && "toolCallId" in part ? [part.toolCallId] : [],
        );
      assert.deepEqual(idsOf("tool-call"), idsOf("tool-result"));
    }),
  );
});

test("earlier messages of a session are summarised, too, so that they cannot fill the window", () => {
  const before = [
    { role: "user" as const, text: "x".repeat(20_000) },
    { role: "assistant" as const, text: "The first answer." },
  ];
  const state = startOf(startedEntry({ prompt: "Go on.", before }));
  assert.equal(compactionPoint(state, { windowTokens: 4_000, toolChars: 0 }), 0);
  assert.match(transcriptOf(state, { upTo: 0, windowTokens: 4_000 }), /The first answer/);
  const usage = { inputTokens: 5, outputTokens: 5 };
  const about = { usage, model: "scripted/plan", costUsd: 0, isOfSession: true };
  const at = state.updatedAt;
  const after = applyEntry(state, {
    kind: "compacted",
    at,
    upTo: 0,
    summary: "IN SHORT",
    ...about,
  });
  const said = JSON.stringify(conversationOf(after));
  assert.match(said, /Go on\..*IN SHORT/);
  assert.doesNotMatch(said, /xxx|first answer/);
  assert.equal(compactionPoint(after, { windowTokens: 4_000, toolChars: 0 }), null);
});

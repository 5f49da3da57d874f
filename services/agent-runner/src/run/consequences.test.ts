import assert from "node:assert/strict";
import { test } from "node:test";
import { startedEntry } from "../../test-fixtures/journals.ts";
import type { AnswerPart } from "../journal/answer-part.ts";
import type { EntryOf, JournalEntry } from "../journal/journal-entry.ts";
import { replay } from "../journal/replay.ts";
import { selectTools } from "../tools/tool-catalogue.ts";
import { consequencesOf } from "./consequences.ts";

const AT = "2026-01-01T00:00:01.000Z";
const now = Date.parse(AT);
const tools = selectTools({ tools: [], layers: [], skills: ["summarise"] });
const asked = startedEntry({ output: { type: "string" } });

test("an answer in text ends the run with it", () => {
  assert.deepEqual(after([{ type: "text", text: "hello" }]), {
    results: [],
    end: { kind: "finished", at: AT, output: "hello" },
  });
});

test("an answer does not end a run whose latest message it has not heard", () => {
  const steered: JournalEntry = { kind: "steered", at: AT, by: "cli", message: "and more" };
  const { end } = after([{ type: "text", text: "hello" }], [startedEntry(), steered]);
  assert.equal(end, null);
});

test("a look into the run itself has its result at once, and does not end it", () => {
  const { results, end } = after([call(0, "read_result", { result: "1:9" })]);
  assert.deepEqual(
    results.map(({ kind, callId, at }) => [kind, callId, at]),
    [["tool-completed", "r1:1:0", AT]],
  );
  assert.equal(end, null);
});

test("an accepted answer ends the run, unless a call beside it is open", () => {
  const final = call(0, "final_answer", { value: "done" });
  assert.equal(after([final], [asked]).end?.output, '"done"');
  const beside = after([final, call(1, "mcp__files__read_file", {})], [asked]);
  assert.equal(beside.results.length, 1);
  assert.equal(beside.end, null);
  const refused = after([call(0, "final_answer", { value: 1 })], [asked]);
  assert.deepEqual(
    refused.results.map(({ kind }) => kind),
    ["tool-failed"],
  );
  assert.equal(refused.end, null);
});

test("nothing is answered beside a skill, which may take tools away", () => {
  const { results, end } = after([
    call(0, "skill", { name: "summarise" }),
    call(1, "find_tools", { query: "files" }),
  ]);
  assert.deepEqual([results, end], [[], null]);
});

test("nothing follows a request to cancel, a limit or the end of the time", () => {
  const text: AnswerPart[] = [{ type: "text", text: "hello" }];
  const cancel: JournalEntry = { kind: "cancel-requested", at: AT, by: "cli", reason: null };
  assert.deepEqual(after(text, [startedEntry(), cancel]), { results: [], end: null });
  const limits = { maxSteps: 6, maxToolCalls: 0, timeoutMs: 3_600_000 };
  const look = call(0, "read_result", { result: "1:9" });
  assert.deepEqual(after([look], [startedEntry({ limits })]), { results: [], end: null });
  const brief = startedEntry({ limits: { ...limits, timeoutMs: 1 } });
  assert.deepEqual(after(text, [brief]), { results: [], end: null });
});

function after(content: AnswerPart[], before: JournalEntry[] = [startedEntry()]) {
  const answer: EntryOf<"model-responded"> = {
    kind: "model-responded",
    at: AT,
    step: 1,
    content,
    usage: { inputTokens: 1, outputTokens: 1 },
    finishReason: content.some(({ type }) => type === "tool-call") ? "tool-calls" : "stop",
    servedModel: "m",
    durationMs: 0,
  };
  return consequencesOf(replay(before), answer, { tools, now });
}

function call(index: number, tool: string, input: Record<string, unknown>): AnswerPart {
  const callId = `r1:1:${index}`;
  return { type: "tool-call", callId, toolCallId: callId, tool, input };
}

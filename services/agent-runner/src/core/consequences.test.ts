import assert from "node:assert/strict";
import { test } from "node:test";
import { startedEntry } from "../../test-fixtures/journals.ts";
import type { AnswerPart, FinishReason } from "./answer-part.ts";
import type { EntryOf, JournalEntry } from "./journal-entry.ts";
import { replay } from "./replay.ts";
import type { ListedTool } from "./tool-catalogue.ts";
import { selectTools, type ToolCatalogue } from "./tool-catalogue.ts";
import { newPrints } from "./tool-print.ts";
import { consequencesOf } from "./consequences.ts";

const AT = "2026-01-01T00:00:01.000Z";
const now = Date.parse(AT);
const TOOLS = selectTools({ tools: [], layers: [], skills: ["summarise"] });
const READ: ListedTool = {
  name: "mcp__files__read_file",
  tool: "read_file",
  server: "files",
  description: "Reads.",
  inputSchema: { type: "object" },
};
const NOTHING = { results: [], dispatched: [], end: null };
const asked = startedEntry({ output: { type: "string" } });

test("an answer in text ends the run with it", () => {
  assert.deepEqual(after([{ type: "text", text: "hello" }]), {
    results: [],
    dispatched: [],
    end: { kind: "finished", at: AT, output: "hello" },
  });
});

test("an answer does not end a run whose latest message it has not received", () => {
  const steered: JournalEntry = { kind: "steered", at: AT, by: "cli", message: "and more" };
  const { end } = after([{ type: "text", text: "hello" }], [startedEntry(), steered]);
  assert.equal(end, null);
});

test("a call that reads the run itself has its result at once, and does not end the run", () => {
  const { results, end } = after([call(0, "read_result", { result: "1:9" })]);
  assert.deepEqual(
    results.map(({ kind, callId, at }) => [kind, callId, at]),
    [["tool-completed", "r1:1:0", AT]],
  );
  assert.equal(end, null);
});

test("an accepted answer ends the run, unless another call of the answer is open", () => {
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

test("calls of tool providers are dispatched with the answer, as many as are sent side by side", () => {
  const calls = [
    call(0, "mcp__files__read_file", {}),
    call(1, "ask_user", { question: "?" }),
    call(2, "read_file", { path: "a.txt" }),
    call(3, "no such tool", {}),
    call(4, "mcp__files__read_file", "no object"),
    call(5, "mcp__files__read_file", {}),
    call(6, "mcp__files__read_file", {}),
  ];
  const { dispatched, results, end } = after(calls, undefined, { atOnce: 6 });
  assert.deepEqual(
    dispatched,
    ["r1:1:0", "r1:1:2", "r1:1:5"].map((callId) => ({ kind: "tool-dispatched", at: AT, callId })),
  );
  assert.deepEqual([results, end], [[], null]);
  assert.deepEqual(after(calls, undefined, { atOnce: 0 }), NOTHING);
});

test("a call of a tool that differs from the one the model was shown is not dispatched", () => {
  const listed = { ...READ, description: "Reads, and tells others." };
  const changed = selectTools({ tools: [listed], layers: [], skills: [] });
  const called = [call(0, READ.name, {})];
  assert.deepEqual(after(called, undefined, { tools: changed, shown: READ }).dispatched, []);
  assert.equal(after(called, undefined, { tools: changed, shown: listed }).dispatched.length, 1);
});

test("a call that may be cut off before its arguments is not dispatched", () => {
  const read = (index: number): AnswerPart => call(index, READ.name, {});
  for (const finishReason of ["length", "content-filter", "error"] as const) {
    const { dispatched } = after([read(0), read(1)], undefined, { finishReason });
    assert.deepEqual(
      dispatched.map(({ callId }) => callId),
      ["r1:1:0"],
      `${finishReason}: only the last call can be cut`,
    );
    const whole = [read(0), call(1, READ.name, { path: "a" })];
    assert.equal(after(whole, undefined, { finishReason }).dispatched.length, 2);
  }
});

test("nothing is answered or dispatched beside a skill, which may take tools away", () => {
  const consequences = after([
    call(0, "skill", { name: "summarise" }),
    call(1, "find_tools", { query: "files" }),
    call(2, "mcp__files__read_file", {}),
  ]);
  assert.deepEqual(consequences, NOTHING);
});

test("a search for tools names the servers that are away, whose tools it could not search", () => {
  const servers = [{ server: "github", reason: "connecting" }];
  const away: JournalEntry = { kind: "tools-unavailable", at: AT, servers };
  const search = call(0, "find_tools", { query: "issues" });
  const { results } = after([search], [startedEntry(), away]);
  assert.match(JSON.stringify(results), /unavailable now: github \(connecting\)/);
  assert.doesNotMatch(JSON.stringify(after([search]).results), /unavailable/);
});

test("nothing follows a request to cancel, a limit or the end of the time", () => {
  const text: AnswerPart[] = [{ type: "text", text: "hello" }];
  const cancel: JournalEntry = { kind: "cancel-requested", at: AT, by: "cli", reason: null };
  assert.deepEqual(after(text, [startedEntry(), cancel]), NOTHING);
  const limits = { maxSteps: 6, maxToolCalls: 0, timeoutMs: 3_600_000 };
  const look = call(0, "read_result", { result: "1:9" });
  const read = call(0, "mcp__files__read_file", {});
  assert.deepEqual(after([read], [startedEntry({ limits })]), NOTHING);
  assert.deepEqual(after([look], [startedEntry({ limits })]), NOTHING);
  const brief = startedEntry({ limits: { ...limits, timeoutMs: 1 } });
  assert.deepEqual(after(text, [brief]), NOTHING);
});

function after(
  content: AnswerPart[],
  before: JournalEntry[] = [startedEntry()],
  {
    atOnce = 8,
    tools = TOOLS,
    shown,
    finishReason = content.some(({ type }) => type === "tool-call") ? "tool-calls" : "stop",
  }: {
    atOnce?: number;
    tools?: ToolCatalogue;
    shown?: ListedTool;
    finishReason?: FinishReason;
  } = {},
) {
  const answer: EntryOf<"model-responded"> = {
    kind: "model-responded",
    at: AT,
    step: 1,
    content,
    usage: { inputTokens: 1, outputTokens: 1 },
    finishReason,
    servedModel: "m",
    durationMs: 0,
    ...(shown === undefined ? {} : { shown: printsOf(shown) }),
  };
  return consequencesOf(replay(before), answer, { tools, now, atOnce });
}

function printsOf(tool: ListedTool) {
  const catalogue = selectTools({ tools: [tool], layers: [], skills: [] });
  return newPrints({}, catalogue.offered, catalogue);
}

function call(index: number, tool: string, input: unknown): AnswerPart {
  const callId = `r1:1:${index}`;
  return { type: "tool-call", callId, toolCallId: callId, tool, input };
}

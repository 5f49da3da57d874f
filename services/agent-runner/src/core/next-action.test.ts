import assert from "node:assert/strict";
import { test } from "node:test";
import { startedEntry } from "../../test-fixtures/journals.ts";
import type { FinishReason } from "./answer-part.ts";
import type { JournalEntry } from "./journal-entry.ts";
import { limitFailure, nextAction } from "./next-action.ts";
import { applyEntry, replay } from "./replay.ts";

const AT = "2026-01-01T00:00:01.000Z";
const SOON = Date.parse(AT);

test("calls the model first", () => {
  assert.deepEqual(nextAction(replay([startedEntry()]), SOON), { action: "call-model", step: 1 });
});

test("finishes with the text of an answer without calls", () => {
  const state = replay([startedEntry(), answer(1, 0, "stop")]);
  assert.deepEqual(nextAction(state, SOON), { action: "finish", output: "text 1" });
});

test("makes only the calls that have no result, then calls the model again", () => {
  const entries = [startedEntry(), answer(1, 2)];
  const some = replay([...entries, failure("r1:1:0")]);
  const action = nextAction(some, SOON);
  assert.equal(action.action, "call-tools");
  assert.deepEqual(action.action === "call-tools" && action.calls.map((call) => call.part.callId), [
    "r1:1:1",
  ]);
  const all = replay([...entries, failure("r1:1:0"), failure("r1:1:1")]);
  assert.deepEqual(nextAction(all, SOON), { action: "call-model", step: 2 });
});

test("stops at each limit, by its name", () => {
  const limits = { maxSteps: 1, maxToolCalls: 1, timeoutMs: 60_000 };
  const started = startedEntry({ limits });
  const cases: [JournalEntry[], number, string][] = [
    [[started], Date.parse(started.at) + 60_000, "timeoutMs (60000 ms)"],
    [[started, answer(1, 2)], SOON, "maxToolCalls (1)"],
    [[started, answer(1, 1), failure("r1:1:0")], SOON, "maxSteps (1)"],
  ];
  for (const [entries, now, named] of cases) {
    const action = nextAction(replay(entries), now);
    assert.ok(action.action === "limit", named);
    const { code, message, limit } = limitFailure(action.reached);
    assert.ok(limit !== undefined && named.startsWith(`${limit.limit} (${limit.value}`));
    assert.equal(code, "limit_exceeded");
    assert.ok(message.includes(named), message);
    assert.match(message, /a retry with a higher \w+ continues/);
  }
});

test("calls the model no more once the run's tokens are used up, but makes the calls that it requested", () => {
  const after = (maxTokens: number, ...entries: JournalEntry[]) => {
    const limits = { ...startedEntry().limits, maxTokens };
    return nextAction(replay([startedEntry({ limits }), answer(1, 1), ...entries]), SOON);
  };
  const usedUp = after(2, failure("r1:1:0")); // the answer took one token each way
  assert.deepEqual(usedUp, {
    action: "limit",
    reached: { limit: "maxTokens", value: 2, until: null },
  });
  assert.equal(after(3, failure("r1:1:0")).action, "call-model");
  assert.equal(after(2).action, "call-tools");
});

test("does not sell a broken answer as a success", () => {
  const codes = {
    length: "output_limit",
    "content-filter": "content_filter",
    error: "malformed_call",
  } as const;
  for (const [reason, code] of Object.entries(codes)) {
    // Keys of an object are strings.
    const end = answer(1, 0, reason as keyof typeof codes);
    const action = nextAction(replay([startedEntry(), end]), SOON);
    assert.equal(action.action === "fail" && action.failure.code, code, reason);
  }
});

test("the text beside the last calls is the answer of a model that adds nothing", () => {
  const empty = { ...answer(2, 0, "stop"), content: [] } as JournalEntry; // an answer without its parts
  const entries = [startedEntry(), answer(1, 1), failure("r1:1:0"), empty];
  assert.deepEqual(nextAction(replay(entries), SOON), { action: "finish", output: "text 1" });
  const more = [...entries.slice(0, 3), answer(2, 0, "stop")];
  assert.deepEqual(nextAction(replay(more), SOON), { action: "finish", output: "text 2" });
});

test("ends a run that is to be cancelled before anything else", () => {
  const entries = [startedEntry(), answer(1, 2), failure("r1:1:0"), CANCEL];
  const late = Date.parse(AT) + 9_999_999_999;
  assert.equal(nextAction(replay(entries), late).action, "cancel");
});

test("resumes after a retry at the first step without a result, with the limits that it sets", () => {
  const limits = { maxSteps: 1, maxToolCalls: null, timeoutMs: 60_000 };
  const entries = [startedEntry({ limits }), answer(1, 1), failure("r1:1:0"), FAILED];
  const raised = replay([...entries, retried({ maxSteps: 2 })]);
  assert.deepEqual(nextAction(raised, SOON), { action: "call-model", step: 2 });
  assert.deepEqual(raised.limits, { ...limits, maxSteps: 2 });
  const same = nextAction(replay([...entries, retried({})]), SOON);
  assert.equal(same.action, "limit");
});

test("waits at a limit until it is changed, or until its period restarts", () => {
  const limits = { ...startedEntry().limits, maxSteps: 1, onLimit: "pause" as const };
  const until = "2026-01-01T00:00:02.000Z";
  const done = [startedEntry({ limits }), answer(1, 1), failure("r1:1:0")];
  const reached = (end: string | null): JournalEntry => ({
    kind: "limit-reached",
    at: AT,
    limit: "maxSteps",
    value: 1,
    until: end,
  });
  const waiting: JournalEntry = { kind: "waiting", at: AT, until: null };
  const paused = replay([...done, reached(null), waiting]);
  assert.deepEqual(nextAction(paused, SOON + 9_999_999_999), { action: "park", until: null });
  const raised: JournalEntry = {
    kind: "limits-changed",
    at: AT,
    by: "cli",
    limits: { maxSteps: 2 },
    streamSequence: 1,
  };
  const wokenAt = (at: string): JournalEntry => ({ kind: "woken", at, attempt: 2 });
  const goesOn = replay([...done, reached(null), waiting, raised, wokenAt(AT)]);
  assert.deepEqual(nextAction(goesOn, SOON), { action: "call-model", step: 2 });
  const early = replay([...done, reached(until), waiting, wokenAt(AT)]);
  assert.deepEqual(nextAction(early, SOON), { action: "park", until });
  assert.equal(replay([...done, reached(until), waiting, wokenAt(until)]).atLimit, null);
});

test("a retry repeats an answer that broke off, and keeps a whole one", () => {
  const broken = replay([startedEntry(), answer(1, 0, "length"), FAILED, retried({})]);
  assert.deepEqual(nextAction(broken, SOON), { action: "call-model", step: 1 });
  const cancelled: JournalEntry = { kind: "cancelled", at: AT };
  const whole = replay([startedEntry(), answer(1, 0, "stop"), CANCEL, cancelled, retried({})]);
  assert.deepEqual(nextAction(whole, SOON), { action: "finish", output: "text 1" });
});

test("requests an answer in its form three times in a row, and again after a retry", () => {
  const started = startedEntry({ output: { type: "integer" } });
  const refused = (step: number): JournalEntry[] => [
    answer(step, 1, "tool-calls", "final_answer"),
    failure(`r1:${step}:0`),
  ];
  const goesOn: [JournalEntry[], number][] = [
    [[...refused(1), ...refused(2)], 3],
    [[answer(1, 0, "stop"), ...refused(2)], 3],
    // The run made progress in between.
    [[...refused(1), ...refused(2), answer(3, 1), failure("r1:3:0"), ...refused(4)], 5],
  ];
  for (const [entries, step] of goesOn)
    assert.deepEqual(nextAction(replay([started, ...entries]), SOON), {
      action: "call-model",
      step,
    });
  const cases = [
    [...refused(1), ...refused(2), ...refused(3)],
    [answer(1, 0, "stop"), ...refused(2), answer(3, 0, "stop")],
  ];
  for (const entries of cases) {
    const action = nextAction(replay([started, ...entries]), SOON);
    assert.equal(action.action === "fail" && action.failure.code, "invalid_answer");
    const again = replay([started, ...entries, FAILED, retried({})]);
    assert.deepEqual(nextAction(again, SOON), { action: "call-model", step: 4 });
  }
});

test("a retry repeats the failed call of a skill that maps directly to a tool", () => {
  const dispatch = { tool: "t", input: {} };
  const skilled: JournalEntry = { kind: "skill-dispatched", at: AT, callId: "r1:1:0" };
  const entries = [startedEntry({ dispatch }), skilled, failure("r1:1:0")];
  assert.equal(nextAction(replay(entries), SOON).action, "fail");
  const again = replay([...entries, FAILED, retried({})]);
  assert.deepEqual(nextAction(again, SOON), { action: "dispatch-skill" });
  const made = nextAction(applyEntry(again, skilled), SOON);
  assert.equal(made.action === "call-tools" && made.calls[0]?.part.callId, "r1:1:0");
});

test("the result of a skill that maps directly to a tool has the form that the command requires, or the run fails", () => {
  const started = startedEntry({
    dispatch: { tool: "t", input: {} },
    output: { type: "object", required: ["n"] },
  });
  const after = (text: string) => {
    const callId = "r1:1:0";
    const about = { isError: false, decision: null, durationMs: 0, replayed: false, skill: null };
    const done: JournalEntry = {
      kind: "tool-completed",
      at: AT,
      callId,
      text,
      textBytes: 1,
      ...about,
    };
    const skilled: JournalEntry = { kind: "skill-dispatched", at: AT, callId };
    return nextAction(replay([started, skilled, done]), SOON);
  };
  assert.deepEqual(after('{ "n": 1 }'), { action: "finish", output: '{"n":1}' });
  const other = after("one");
  assert.equal(other.action === "fail" && other.failure.code, "invalid_answer");
});

test("counts the time of a retried run from the retry", () => {
  const started = startedEntry({ at: "2020-01-01T00:00:00.000Z" });
  assert.equal(nextAction(replay([started, FAILED]), SOON).action, "stop");
  assert.equal(nextAction(replay([started, FAILED, retried({})]), SOON).action, "call-model");
});

test("does nothing after the end", () => {
  const state = replay([startedEntry(), { kind: "finished", at: AT, output: "done" }]);
  assert.deepEqual(nextAction(state, SOON), { action: "stop" });
});

const CANCEL: JournalEntry = { kind: "cancel-requested", at: AT, by: "cli", reason: null };
const FAILED: JournalEntry = {
  kind: "failed",
  at: AT,
  failure: { code: "limit_exceeded", message: "x" },
};

function retried(limits: { maxSteps?: number }): JournalEntry {
  return { kind: "retried", at: AT, by: "cli", limits, streamSequence: 1 };
}

function answer(
  step: number,
  calls: number,
  finishReason: FinishReason = "tool-calls",
  tool = "t",
): JournalEntry {
  return {
    kind: "model-responded",
    at: AT,
    step,
    content: [
      { type: "reasoning", text: "hm" },
      { type: "text", text: `text ${step}` },
      ...Array.from({ length: calls }, (_, index) => ({
        type: "tool-call" as const,
        callId: `r1:${step}:${index}`,
        toolCallId: `c${step}-${index}`,
        tool,
        input: {},
      })),
    ],
    usage: { inputTokens: 1, outputTokens: 1 },
    finishReason,
    servedModel: "m",
    durationMs: 0,
  };
}

function failure(callId: string): JournalEntry {
  return { kind: "tool-failed", at: AT, callId, code: "x", message: "y" };
}

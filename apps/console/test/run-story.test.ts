import assert from "node:assert/strict";
import { test } from "node:test";
import type { RunMessage } from "@switchyard/client/follow";
import { RunStory } from "../src/run/run-story.ts";

const START = Date.parse("2026-01-01T00:00:00.000Z");
const at = (ms: number): string => new Date(START + ms).toISOString();
const decision = {
  effect: "deny",
  rule: "no",
  reason: "not here",
  policyDigest: "sha256:0",
} as const;
const usage = { inputTokens: 10, outputTokens: 5 };

/** A message with the fields that its kind needs beside the usual ones. */
function message(event: string, seq: number, ms: number, data: object): RunMessage {
  const whole = { event, id: seq, data: { runId: "me~r", seq, at: at(ms), ...data } };
  return whole as RunMessage; // each test gives the fields of its kind
}

function storyOf(...messages: RunMessage[]): RunStory {
  const story = new RunStory();
  for (const one of messages) story.take(one);
  return story;
}

const started = message("started", 1, 0, { agent: "demo", requester: "me" });
const requested = message("tool-requested", 3, 100, {
  step: 1,
  callId: "c1",
  tool: "write",
  argsPreview: "{}",
});

test("a call is one line from its request to its end, with what decided", () => {
  const story = storyOf(
    started,
    message("model-responded", 2, 90, {
      step: 1,
      model: "m",
      text: "",
      toolCalls: 1,
      usage,
      durationMs: 40,
      costUsd: 0.5,
    }),
    requested,
    message("tool-denied", 4, 130, { step: 1, callId: "c1", tool: "write", decision }),
  );
  const [, model, call] = story.spans;
  assert.deepEqual([model?.startMs, model?.endMs], [START + 50, START + 90]);
  assert.deepEqual([call?.title, call?.status, call?.endMs], ["write", "denied", START + 130]);
  assert.equal(call?.decision?.rule, "no");
  assert.deepEqual([story.inputTokens, story.costUsd, story.toolCalls], [10, 0.5, 1]);
});

test("text that comes live is replaced by what the step said in the end, and begins anew when the step does", () => {
  const story = storyOf(started);
  const delta = (text: string, kind?: "reset-step"): RunMessage => ({
    event: "delta",
    id: null,
    data: { runId: "me~r", step: 1, delta: text, ...(kind && { kind }) },
  });
  story.take(delta("Hal"));
  story.take(delta("lo"));
  assert.deepEqual([story.turns[0]?.text, story.turns[0]?.isLive], ["Hallo", true]);
  story.take(delta("", "reset-step"));
  story.take(delta("Hi"));
  story.take(
    message("model-responded", 2, 9, {
      step: 1,
      model: "m",
      text: "Hi.",
      toolCalls: 0,
      usage,
      durationMs: 1,
      costUsd: null,
    }),
  );
  assert.deepEqual(
    [story.turns.length, story.turns[0]?.text, story.turns[0]?.isLive],
    [1, "Hi.", false],
  );
  assert.equal(story.costUsd, null, "a price that is not known makes the sum unknown");
});

test("a wait ends when the run is woken or over, and a retry opens the run again", () => {
  const wait = {
    reason: "approval",
    callId: "c1",
    tool: "write",
    until: null,
    approvalId: "apr-1",
  };
  const story = storyOf(started, message("waiting", 2, 10, { waits: [wait], until: null }));
  assert.deepEqual([story.status, story.waits.length], ["waiting", 1]);
  story.take(message("cancelled", 3, 50, { by: "me", reason: "enough", steps: 0 }));
  const span = story.spans.find(({ kind }) => kind === "wait");
  assert.deepEqual([story.status, story.endMs, span?.endMs], ["cancelled", START + 50, START + 50]);
  story.take(message("retried", 4, 60, { by: "me", limits: {}, streamSequence: 1 }));
  assert.deepEqual([story.status, story.endMs], ["running", null]);
});

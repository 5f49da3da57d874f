import assert from "node:assert/strict";
import { test } from "node:test";
import { startedEntry } from "../../test-fixtures/journals.ts";
import type { JournalEntry } from "./journal-entry.ts";
import { replay } from "./replay.ts";
import { effectsOfTurn, isAnswerSent } from "./sent-messages.ts";

const at = "2026-01-01T00:00:01.000Z";
const ADDRESS = {
  channel: "loopback",
  accountId: "default",
  target: { kind: "group" as const, id: "team" },
};
const RESULT = JSON.stringify({
  kind: "send",
  channel: "loopback",
  action: "send",
  to: "group:team",
  payload: { sendId: "s", messageIds: ["1"], accountId: "default" },
  dryRun: false,
});

/** A run that sent "Hello" by a call with this result, or by a CLI with this record, and answered. */
function journal({
  result = { text: RESULT, isError: false },
  sent,
  message = "Hello",
}: {
  result?: { text: string; isError: boolean };
  sent?: Extract<JournalEntry, { kind: "model-responded" }>["sent"];
  message?: string;
}): JournalEntry[] {
  const callId = "r:1:0";
  const input = { target: "group:team", message };
  const answer = {
    kind: "model-responded" as const,
    at,
    usage: { inputTokens: 0, outputTokens: 0 },
    servedModel: "cli",
    durationMs: 1,
  };
  return [
    startedEntry({ origin: { channel: "loopback", chat: { address: ADDRESS } } }),
    {
      ...answer,
      step: 1,
      finishReason: "tool-calls",
      content: [{ type: "tool-call", callId, toolCallId: "c1", tool: "message_send", input }],
    },
    { kind: "tool-dispatched", at, callId },
    {
      kind: "tool-completed",
      at,
      callId,
      ...result,
      textBytes: 1,
      decision: null,
      durationMs: 1,
      replayed: false,
      skill: null,
    },
    {
      ...answer,
      step: 2,
      finishReason: "stop",
      content: [{ type: "text", text: "Hello" }],
      ...(sent && { sent }),
    },
  ];
}

test("an answer that the run has sent to its chat itself is recognized by the journal [F13] [F36]", () => {
  assert.equal(isAnswerSent(journal({}), " Hello\n"), true);
  assert.equal(isAnswerSent(journal({}), "Hello again"), false);
  assert.equal(isAnswerSent(journal({ message: "Another text" }), "Hello"), false);
  const elsewhere = RESULT.replace("group:team", "group:others");
  assert.equal(
    isAnswerSent(journal({ result: { text: elsewhere, isError: false } }), "Hello"),
    false,
  );
  const unsure = { text: "TIMEOUT_UNKNOWN: it may have been sent", isError: true };
  assert.equal(isAnswerSent(journal({ result: unsure }), "Hello"), false);
  assert.equal(isAnswerSent([startedEntry()], "Hello"), false, "a run without a chat");
});

test("an answer is recognized by the record of a CLI where the journal has cut the result [F36]", () => {
  const cut = { text: RESULT.slice(0, 40), isError: false };
  const record = { text: "Hello", provider: "loopback", accountId: "default", to: "group:team" };
  assert.equal(isAnswerSent(journal({ result: cut }), "Hello"), false);
  assert.equal(isAnswerSent(journal({ result: cut, sent: [record] }), "Hello"), true);
  for (const other of [
    { to: "group:others" },
    { threadId: "t" },
    { provider: "slack" },
    { accountId: "b" },
  ])
    assert.equal(
      isAnswerSent(journal({ result: cut, sent: [{ ...record, ...other }] }), "Hello"),
      false,
    );
});

test("the side effects of a turn have the ids under which the CLI knows the calls [F38]", () => {
  const state = replay(journal({}).slice(0, 4));
  const effects = effectsOfTurn(state.turns.at(-1), state);
  assert.deepEqual(Object.keys(effects), ["c1"]);
  const [effect] = effects["c1"] ?? [];
  assert.ok(effect?.type === "message_sent");
  const { provider, accountId, to, text, status } = effect;
  assert.deepEqual(
    [provider, accountId, to, text, status],
    ["loopback", "default", "group:team", "Hello", "sent"],
  );
});

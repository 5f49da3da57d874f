import assert from "node:assert/strict";
import { test } from "node:test";
import type { RunFollowUp } from "@switchyard/contracts/agent-runner/run-follow-up";
import { startedEntry } from "../../test-fixtures/journals.ts";
import { followUpOf } from "./follow-up.ts";
import type { JournalEntry } from "./journal-entry.ts";
import { replay } from "./replay.ts";

const AT = "2026-01-01T00:00:02.500Z";
const ANN = { session: "agent:helper:telegram:direct:ann", agent: "helper" };
const DESK = { session: "desk", agent: "writer" };
const chat = { channel: "telegram", target: { kind: "user", id: "ann" } } as const;
const converse: RunFollowUp = {
  kind: "converse",
  requester: DESK,
  target: ANN,
  speaker: "target",
  turnsLeft: 2,
  question: "What is new?",
  chat,
};

test("the end of a task is announced with status, result, notes and figures [F9] [complaint-3]", () => {
  const announce: RunFollowUp = {
    kind: "announce",
    to: DESK,
    label: "the look",
    endsSession: true,
    chat,
  };
  const next = followUpOf(ended(announce, "Nothing is new."));
  assert.ok(next?.kind === "say");
  assert.deepEqual(
    [next.session, next.agent, next.endsSession, next.followUp],
    ["desk", "writer", true, { kind: "tell", chat }],
  );
  assert.match(next.message, /^A subagent that this session started has ended: the look\.$/m);
  assert.match(next.message, /^Status: completed successfully$/m);
  assert.match(next.message, /^Result:\nNothing is new\.$/m);
  assert.match(next.message, /^Notes: .*ANNOUNCE_SKIP/m);
  assert.match(next.message, /^Stats: runtime 2\.5 s · tokens 0 \(in 0, out 0\) · model scripted/m);
  assert.match(said(followUpOf(ended(announce, " "))), /\(no output\)/);
  assert.match(said(followUpOf(ended(announce, "x".repeat(50_000)))), /…\(truncated\)…/);
  assert.ok(said(followUpOf(ended(announce, "x".repeat(50_000)))).length < 32_768);
  for (const [code, status] of [
    ["timeout", "timed out"],
    ["model_failed", "failed (model_failed)"],
  ] as const)
    assert.ok(said(followUpOf(failed(announce, code))).includes(`\nStatus: ${status}\n`));
});

test("a task that was cancelled is not announced: the user who cancelled it is aware of it, or has sent another message [F12]", () => {
  const announce: RunFollowUp = { kind: "announce", to: DESK, label: null, endsSession: false };
  const cancelled: JournalEntry[] = [
    startedEntry({ followUp: announce }),
    { kind: "cancel-requested", at: AT, by: "cli", reason: null },
    { kind: "cancelled", at: AT, discarded: undefined },
  ];
  assert.equal(followUpOf(replay(cancelled)), null);
  assert.equal(followUpOf(ended(undefined, "hello")), null);
});

test("two sessions answer each other until the turns are used up, then the chat of the called one is notified [F8]", () => {
  const first = followUpOf(ended(converse, "All is well."));
  assert.ok(first?.kind === "say" && first.followUp?.kind === "converse");
  assert.deepEqual([first.session, first.agent], ["desk", "writer"]);
  assert.match(first.message, /message of another agent, and not of a person/);
  assert.match(first.message, /All is well\./);
  assert.deepEqual(
    [first.followUp.speaker, first.followUp.turnsLeft, first.followUp.firstReply],
    ["requester", 1, "All is well."],
  );
  const second = followUpOf(ended(first.followUp, "Is it?"));
  assert.ok(second?.kind === "say" && second.followUp?.kind === "converse");
  assert.deepEqual([second.session, second.followUp.turnsLeft], [ANN.session, 0]);
  const last = followUpOf(ended(second.followUp, "It is."));
  assert.ok(last?.kind === "say");
  assert.deepEqual([last.session, last.followUp], [ANN.session, { kind: "tell", chat }]);
  for (const part of [/^Request:\nWhat is new\?$/m, /^First reply:\nAll is well\.$/m, /It is\./])
    assert.match(last.message, part);
});

test("control words count only as whole answers [F8] [complaint-4]", () => {
  const over = followUpOf(ended(converse, " REPLY_SKIP\n"));
  assert.ok(over?.kind === "say");
  assert.equal(over.session, ANN.session);
  assert.match(over.message, /^First reply:\n\(none\)$/m);
  const goesOn = followUpOf(ended(converse, "I was told to say REPLY_SKIP"));
  assert.ok(goesOn?.kind === "say" && goesOn.session === "desk");
  const { chat: _, ...silent } = converse;
  assert.equal(followUpOf(ended(silent, "REPLY_SKIP")), null);
  assert.equal(followUpOf(failed(converse, "model_failed")), null);
  const report: RunFollowUp = { kind: "tell", chat };
  assert.deepEqual(followUpOf(ended(report, " Hello Ann. ")), {
    kind: "tell",
    chat,
    text: "Hello Ann.",
  });
  assert.equal(followUpOf(ended(report, "ANNOUNCE_SKIP")), null);
  assert.equal(followUpOf(ended(report, "  ")), null);
  assert.notEqual(followUpOf(ended(report, "no ANNOUNCE_SKIP here")), null);
});

function ended(followUp: RunFollowUp | undefined, output: string) {
  const started = startedEntry({ ...(followUp !== undefined && { followUp }) });
  return replay([started, { kind: "finished", at: AT, output }]);
}

function failed(followUp: RunFollowUp, code: string) {
  const failure = { code, message: "it did not work" };
  return replay([startedEntry({ followUp }), { kind: "failed", at: AT, failure }]);
}

function said(next: ReturnType<typeof followUpOf>): string {
  assert.ok(next?.kind === "say");
  return next.message;
}

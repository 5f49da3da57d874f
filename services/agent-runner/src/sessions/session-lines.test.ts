import assert from "node:assert/strict";
import { test } from "node:test";
import { startedEntry } from "../../test-fixtures/journals.ts";
import { replay } from "../core/replay.ts";
import type { JournalEntry } from "../core/journal-entry.ts";
import { historyReply } from "./history-reply.ts";
import { contextOf, linesOf } from "./session-lines.ts";
import { kindOfKey, sessionIdOf, slotOf, slotOfId } from "./session-slot.ts";

const at = "2026-01-01T00:00:00.000Z";
const line = (role: "user" | "assistant" | "tool" | "notice", text: string) => ({
  at,
  role,
  text,
  runId: "r",
});

test("has a run's question, the messages that it received meanwhile and its answer, without credentials", () => {
  const entries: JournalEntry[] = [
    startedEntry({ input: { path: "a", key: `sk-${"x1".repeat(12)}` } }),
    { kind: "steered", at: "2025-12-31T23:59:00.000Z", by: "cli", message: "be short" },
    { kind: "finished", at, output: `done ${"z".repeat(40_000)}` },
  ];
  const lines = linesOf(replay(entries), null);
  assert.deepEqual(
    lines.map(({ role, redacted, truncated }) => [role, redacted, truncated]),
    [
      ["user", true, undefined],
      ["user", undefined, undefined],
      ["assistant", undefined, true],
    ],
  );
  assert.equal(lines[1]?.at, "2025-12-31T23:59:00.000Z");
  assert.equal(lines[0]?.text, '{"path":"a","key":"[redacted]"}');
  assert.ok(lines[2]?.text.endsWith("…(truncated)…"));
  assert.deepEqual(
    lines.map(({ agent }) => agent),
    [undefined, undefined, startedEntry().agent],
  );
});

test("shows an invoked skill as it is typed", () => {
  const asked = (input: string) =>
    linesOf(
      replay([startedEntry({ input, invoked: "greet" }), { kind: "finished", at, output: "hi" }]),
      null,
    )[0]?.text;
  assert.deepEqual([asked("Ada  B"), asked(" ")], ["/greet Ada  B", "/greet"]);
});

test("has only the new lines of a retried run, and the reason for a missing answer", () => {
  const failure = { code: "model_error", message: "it broke" };
  const first: JournalEntry[] = [startedEntry(), { kind: "failed", at, failure }];
  const [, end] = linesOf(replay(first), null);
  assert.equal(end?.role, "notice");
  assert.match(end?.text ?? "", /model_error: it broke/);
  const retried: JournalEntry[] = [
    ...first,
    { kind: "retried", at, by: "cli", limits: {}, streamSequence: 1 },
    { kind: "finished", at, output: "now" },
  ];
  const reported = { tokens: 0, messages: 0, turns: 0 };
  assert.deepEqual(
    linesOf(replay(retried), reported).map(({ role, text }) => [role, text]),
    [["assistant", "now"]],
  );
});

test("gives a run the latest lines that fit, from a user's message on", () => {
  const history = [
    line("user", "1234567890"),
    line("assistant", "a"),
    line("user", "b"),
    line("tool", "x".repeat(1_000)),
    line("notice", "c"),
  ];
  const said = contextOf(history, 5).map(({ text }) => text);
  assert.deepEqual(said, ["b", "c"]);
  assert.equal(contextOf(history, 100).length, 4);
  assert.deepEqual(contextOf(history, 0), []);
  // A notice is sent by the runner, and the model reads it as a user's message.
  const noted = [line("assistant", "a"), line("notice", "b"), line("assistant", "c")];
  assert.deepEqual(
    contextOf(noted, 100).map(({ text }) => text),
    ["b", "c"],
  );
});

test("shows a history within 80 KiB, each text within 4,000 characters [F7]", () => {
  const long = Array.from({ length: 100 }, (_, index) =>
    line("user", `${index} ${"é".repeat(5_000)}`),
  );
  const reply = historyReply(long, { limit: 1_000, includeTools: false, dropped: 3 });
  assert.ok(reply.bytes <= 81_920);
  assert.ok(reply.messages.length > 5);
  assert.equal(reply.messages.at(-1)?.text.startsWith("99 "), true);
  assert.equal(Array.from(reply.messages.at(-1)?.text ?? "").length, 4_000 + 13);
  assert.deepEqual(
    [reply.truncated, reply.contentTruncated, reply.droppedMessages],
    [true, true, 103 - reply.messages.length],
  );
  const wide = historyReply(
    [line("user", "\u0001".repeat(3_999))].flatMap((each) => [each]),
    {
      limit: 1,
      includeTools: false,
      dropped: 0,
    },
  );
  assert.equal(wide.truncated, false);
  const mixed = [line("user", "a"), line("tool", "t"), line("assistant", "b")];
  const asked = { limit: 10, dropped: 0 };
  assert.equal(historyReply(mixed, { ...asked, includeTools: false }).messages.length, 2);
  assert.equal(historyReply(mixed, { ...asked, includeTools: true }).messages.length, 3);
});

test("keeps the sessions of two owners apart, and reads the slot from an id", () => {
  assert.notEqual(slotOf("a", "b"), slotOf("a-b", ""));
  assert.notEqual(slotOf("team-a", "main"), slotOf("team-b", "main"));
  const slot = slotOf("team-a", "main");
  assert.equal(slotOfId(sessionIdOf(slot, 1_767_225_600_000)), slot);
  assert.equal(slotOfId("main"), null);
});

test("reads the kind from the forms of keys that are in use [F6]", () => {
  const kinds = [
    ["main", "main"],
    ["agent:coder:main", "main"],
    ["agent:coder:slack:group:42", "group"],
    ["agent:coder:slack:channel:42", "group"],
    ["cron:nightly", "cron"],
    ["hook:123", "hook"],
    ["node-1", "node"],
    ["agent:coder:slack:direct:ada", "other"],
  ];
  for (const [key = "", kind] of kinds) assert.equal(kindOfKey(key), kind, key);
});

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { canonicalDigest } from "@switchyard/contracts/canonical-json";
import fc from "fast-check";
import { journals, startedEntry } from "../../test-fixtures/journals.ts";
import type { JournalEntry } from "./journal-entry.ts";
import { replay } from "./replay.ts";
import { eventsOf } from "./run-events.ts";

test("numbers the events of a run from 1 without a gap", () => {
  fc.assert(
    fc.property(journals, (entries) => {
      const events = eventsOf(entries);
      assert.deepEqual(
        events.map(({ seq }) => seq),
        events.map((_, index) => index + 1),
      );
      assert.ok(events.every(({ seq, payload }) => payload["seq"] === seq));
    }),
  );
});

test("the events of a journal's beginning are the beginning of its events", () => {
  fc.assert(
    fc.property(journals, fc.nat(), (entries, cut) => {
      const length = 1 + (cut % entries.length);
      const early = eventsOf(entries.slice(0, length));
      assert.deepEqual(early, eventsOf(entries).slice(0, early.length));
      assert.equal(early.length, replay(entries.slice(0, length)).events);
    }),
  );
});

test("builds payloads that fit their contracts, and one terminal event at the end", () => {
  fc.assert(
    fc.property(journals, (entries) => {
      const events = eventsOf(entries);
      for (const { contract, payload } of events) {
        const parsed = contract.payload.safeParse(payload);
        assert.ok(parsed.success, `${contract.name}: ${parsed.error?.message}`);
      }
      const terminal = events.filter(
        ({ contract }) =>
          /finished|failed|cancelled$/.test(contract.name) && contract.name.startsWith("run."),
      );
      assert.ok(
        ["run.finished", "run.failed", "run.cancelled"].includes(
          events.at(-1)?.contract.name ?? "",
        ),
      );
      assert.equal(
        terminal.filter(({ contract }) => contract.name !== "run.tool-failed").length,
        1,
      );
    }),
  );
});

test("previews of arguments and results show no secrets", () => {
  const key = ["AK", "IA", "Q3".repeat(8)].join("");
  const input = { note: `use ${key}`, clientSecret: "opensesame", path: "a.txt" };
  const call = { type: "tool-call", callId: "r1:1:0", toolCallId: "c", tool: "t", input } as const;
  const at = "2026-01-01T00:00:01.000Z";
  const answer: JournalEntry = {
    kind: "model-responded",
    at,
    step: 1,
    content: [call],
    usage: { inputTokens: 1, outputTokens: 1 },
    finishReason: "tool-calls",
    servedModel: "m",
    durationMs: 0,
  };
  const decision = {
    effect: "allow",
    rule: "r",
    reason: "r",
    policyDigest: `sha256:${"0".repeat(64)}`,
  } as const;
  const completed: JournalEntry = {
    kind: "tool-completed",
    at,
    callId: "r1:1:0",
    isError: false,
    decision,
    text: `${"x".repeat(1_000)} ${key}`,
    textBytes: 1_021,
    durationMs: 0,
    replayed: false,
    skill: null,
  };
  const [requested, reported] = eventsOf([startedEntry(), answer, completed]).slice(-2);
  assert.equal(
    requested?.payload["argsPreview"],
    '{"clientSecret":"[redacted]","note":"use [redacted]","path":"a.txt"}',
  );
  assert.equal(
    requested?.payload["argsDigest"],
    canonicalDigest(input),
    "the digest is of the whole input",
  );
  assert.equal(reported?.payload["preview"], `${"x".repeat(1_000)} [redacted]`);
});

test("no text of an event is long or has a secret, and its whole length and digest are published", () => {
  const key = ["AK", "IA", "Q3".repeat(8)].join("");
  const long = `${key} ${"x".repeat(80_000)} ${key}`;
  const started = startedEntry({ labels: { password: "opensesame", note: `use ${key}` } });
  const at = "2026-01-01T00:00:01.000Z";
  const call = (index: number) =>
    ({
      type: "tool-call",
      callId: `r1:1:${index}`,
      toolCallId: `c${index}`,
      tool: long,
      input: { long },
    }) as const;
  const until = "2026-01-02T00:00:00.000Z";
  const schema = { properties: { answer: { description: long } } };
  const wait = { reason: "question" as const, question: long, options: [long], schema, until };
  const entries: JournalEntry[] = [
    started,
    {
      kind: "model-responded",
      at,
      step: 1,
      content: [{ type: "text", text: long }, call(0), call(1), call(2)],
      usage: { inputTokens: 1, outputTokens: 1 },
      finishReason: "tool-calls",
      servedModel: "m",
      durationMs: 0,
      passedOver: [{ model: "other/m", message: long }],
    },
    { kind: "tool-failed", at, callId: "r1:1:0", code: "x", message: long },
    {
      kind: "tool-denied",
      at,
      callId: "r1:1:1",
      decision: {
        effect: "deny",
        rule: null,
        reason: long,
        policyDigest: `sha256:${"0".repeat(64)}`,
      },
    },
    { kind: "tool-parked", at, callId: "r1:1:2", wait },
    { kind: "waiting", at, until },
    { kind: "steered", at, by: "cli", message: long, streamSequence: 1 },
    { kind: "finished", at, output: long },
  ];
  const events = eventsOf(entries);
  for (const { contract, payload } of events) {
    const text = JSON.stringify(payload);
    assert.ok(!text.includes(key) && !text.includes("opensesame"), contract.name);
    assert.ok(text.length < 34_000, `${contract.name}: ${text.length}`);
    assert.ok(contract.payload.safeParse(payload).success, contract.name);
  }
  const finished = events.at(-1)?.payload;
  assert.equal(finished?.["deniedCalls"], 1, "the end of a run reports its denied calls");
  assert.ok(String(finished?.["output"]).startsWith("[redacted] xxx"));
  assert.deepEqual(finished?.["abridged"], [
    {
      field: "output",
      bytes: long.length,
      digest: `sha256:${createHash("sha256").update(long).digest("hex")}`,
    },
  ]);
});

test("publishes short and harmless text unchanged", () => {
  fc.assert(
    fc.property(journals, (entries) => {
      for (const { payload } of eventsOf(entries)) assert.equal(payload["abridged"], undefined);
    }),
  );
});

test("cuts previews to 1 KiB and keeps the digest of the whole arguments", () => {
  const answer: JournalEntry = {
    kind: "model-responded",
    at: "2026-01-01T00:00:01.000Z",
    step: 1,
    content: [
      {
        type: "tool-call",
        callId: "r1:1:0",
        toolCallId: "c",
        tool: "any name!",
        input: { text: "ä".repeat(4_000) },
      },
    ],
    usage: { inputTokens: 1, outputTokens: 1 },
    finishReason: "tool-calls",
    servedModel: "m",
    durationMs: 0,
  };
  const requested = eventsOf([startedEntry(), answer]).at(-1);
  assert.equal(requested?.contract.name, "run.tool-requested");
  assert.ok(Buffer.byteLength(String(requested?.payload["argsPreview"])) <= 1_024);
  assert.match(String(requested?.payload["argsDigest"]), /^sha256:[0-9a-f]{64}$/);
  assert.equal(requested?.payload["tool"], "any name!");
});

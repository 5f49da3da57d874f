import assert from "node:assert/strict";
import { test } from "node:test";
import type { StoredEvent } from "@switchyard/bus/stored-event";
import type { Event } from "@switchyard/contracts/define";
import { serverFailed } from "@switchyard/contracts/mcp-broker/mcp-servers";
import {
  modelResponded,
  runCancelled,
  runEvents,
  runFailed,
  runFinished,
  runRejected,
  runLimitsChanged,
  runRetried,
  runStarted,
  runToolsUnavailable,
  runWaiting,
  toolCompleted,
  toolDenied,
  toolFailed,
  toolRequested,
} from "@switchyard/contracts/agent-runner/run-events";
import { formatDuration } from "./quantities.ts";
import { payloadOf, timelineLines, timelineText } from "./run-timeline.ts";
import { storedEvent } from "../test-fixtures/stored-event.ts";

const plain = (_style: unknown, text: string): string => text;
const story = (event: StoredEvent): string[] =>
  timelineLines(event).map(({ mark, label, text }) => `${mark} ${label}: ${text}`);

test("prints every kind of run event", () => {
  const unformatted = runEvents
    .map((contract: Event) => storedEvent(contract))
    .filter((event) => timelineLines(event).length === 0);
  assert.deepEqual(
    unformatted.map((event) => event.subject),
    [],
  );
});

test("says plainly that the scripted model is not AI", () => {
  const event = storedEvent(runStarted, { agent: "demo", model: "scripted/plan" });
  assert.deepEqual(story(event), ["▸ started: demo on scripted/plan — rule-based, no AI"]);
});

test("says of which servers a run was not given the tools, and when they are there again", () => {
  const servers = [{ server: "files", reason: "it does not start" }];
  assert.deepEqual(story(storedEvent(runToolsUnavailable, { servers })), [
    "! tools: of server files were not available: it does not start",
  ]);
  assert.deepEqual(story(storedEvent(runToolsUnavailable, { servers: [] })), [
    "✓ tools: those of all servers are available again",
  ]);
});

test("an allowed call shows the rule before the result, with size and time", () => {
  const event = storedEvent(toolCompleted, {
    tool: "mcp__files__read_file",
    preview: "# Title\nmore",
    textBytes: 1_234,
    durationMs: 12,
    decision: { effect: "allow", rule: "reads", reason: "rule reads allows it" },
  });
  assert.deepEqual(story(event), [
    "✓ allowed: rule reads allows it",
    "← result: mcp__files__read_file: 1.2 KB in 12 ms  # Title ⏎ more",
  ]);
});

test("a run that waits says for what and how long", () => {
  const waits = [
    { reason: "approval", callId: "r:1:0", tool: "write_file", until: null, approvalId: "a1" },
    { reason: "child", callId: "r:1:1", tool: "agent", until: null, childRunId: "run-2" },
  ];
  const event = storedEvent(runWaiting, { waits, until: "2026-01-02T04:04:05.000Z" });
  assert.deepEqual(story(event), [
    "… waiting: for an approval of write_file (a1), its child run-2, at most until 2026-01-02T04:04:05.000Z",
  ]);
});

test("a tool of the runner itself has no decision to show", () => {
  const event = storedEvent(toolCompleted, { tool: "skill", decision: null });
  assert.equal(timelineLines(event).length, 1);
});

test("a denied call names the rule and the reason, once", () => {
  const decision = { effect: "deny", rule: "no-writes", reason: "it never writes" };
  assert.deepEqual(story(storedEvent(toolDenied, { decision })), [
    "✗ denied: rule no-writes: it never writes",
  ]);
  const named = { ...decision, reason: "rule no-writes denies x" };
  assert.deepEqual(story(storedEvent(toolDenied, { decision: named })), [
    "✗ denied: rule no-writes denies x",
  ]);
});

test("a refused command lists its problems", () => {
  const event = storedEvent(runRejected, {
    code: "invalid_command",
    message: "the command does not fit",
    problems: ["inptu: unknown key"],
  });
  assert.deepEqual(story(event), [
    "✗ rejected: invalid_command: the command does not fit",
    "  : inptu: unknown key",
  ]);
});

test("failures show their code", () => {
  assert.deepEqual(story(storedEvent(toolFailed, { code: "tool_timeout", message: "30 s" })), [
    "! failed: mcp__x__y: tool_timeout: 30 s",
  ]);
  const failure = { code: "limit_exceeded", message: "maxSteps 20" };
  assert.deepEqual(story(storedEvent(runFailed, { failure })), [
    "✗ failed: limit_exceeded: maxSteps 20",
  ]);
});

test("a cancel shows by whom and why, a retry shows the limits in force", () => {
  assert.deepEqual(story(storedEvent(runCancelled, { by: "team-a", reason: "wrong file" })), [
    "■ cancelled: by team-a: wrong file",
  ]);
  const limits = { maxSteps: 9, maxToolCalls: 4, timeoutMs: 60_000 };
  assert.deepEqual(story(storedEvent(runRetried, { by: "cli", limits })), [
    `↻ retried: by cli: up to 9 steps, 4 tool calls, ${formatDuration(60_000)}`,
  ]);
  const changed = { ...limits, maxTokens: 50, maxCostUsd: 0.5 };
  assert.deepEqual(story(storedEvent(runLimitsChanged, { by: "cli", limits: changed })), [
    `↻ limits: by cli: up to 9 steps, 4 tool calls, 50 tokens, $0.5, ${formatDuration(60_000)}`,
  ]);
});

test("the end of a run shows how many of its calls were denied", () => {
  const end = (toolCalls: number, deniedCalls?: number) =>
    story(storedEvent(runFinished, { model: "a/m", toolCalls, deniedCalls }));
  assert.match(end(3)[0] ?? "", /3 tool calls, 1 ms/);
  assert.match(
    end(3, 2)[0] ?? "",
    /3 tool calls \(2 denied; why: .* policy explain TOOL --run last\)/,
  );
  assert.match(end(2, 2)[0] ?? "", /2 tool calls \(all denied; /);
});

test("the end of a run shows what it cost, when that is known and not nothing", () => {
  const model = "anthropic/m";
  const end = (costUsd: number | null) => story(storedEvent(runFinished, { model, costUsd }));
  assert.deepEqual(end(0.0421), ["■ finished: 1 step, 1 tool call, 1 ms, $0.042, anthropic/m"]);
  for (const costUsd of [null, 0])
    assert.deepEqual(end(costUsd), ["■ finished: 1 step, 1 tool call, 1 ms, anthropic/m"]);
  assert.deepEqual(story(storedEvent(runFailed, { costUsd: 12.3 })), [
    "✗ failed: internal: it broke, $12.30",
  ]);
  assert.deepEqual(story(storedEvent(runCancelled, { reason: null, costUsd: 0.00012 })), [
    "■ cancelled: by cli, $0.000120",
  ]);
});

test("says at which limit a run waits, and whose it is", () => {
  const wait = { reason: "limit", callId: "r1", tool: "", until: null };
  const own = { ...wait, limit: { limit: "maxSteps", value: 2 } };
  const text = "… waiting: for a higher limit than maxSteps 2; raise it with: ./yard runs resume";
  assert.deepEqual(story(storedEvent(runWaiting, { waits: [own], until: null })), [text]);
  const team = { name: "team-a", per: "day" };
  const shared = { ...wait, limit: { limit: "tokens", value: 100, team } };
  assert.match(
    story(storedEvent(runWaiting, { waits: [shared], until: null })).join(),
    /team-a has used up its tokens \(100\) of this day/,
  );
});

test("the last step only shows that it answers, because the answer goes to stdout", () => {
  const event = storedEvent(modelResponded, { text: "the answer", toolCalls: 0 });
  assert.deepEqual(story(event), ["◆ model: answers"]);
});

test("escape sequences in arguments and results stay visible text", () => {
  const event = storedEvent(toolRequested, { argsPreview: '{"path":"\u001B[2J"}' });
  assert.ok(timelineLines(event).every(({ text }) => !text.includes("\u001B")));
});

test("an event of another noun, or one that does not fit its contract, prints nothing", () => {
  assert.deepEqual(timelineLines(storedEvent(serverFailed)), []);
  const broken = { ...storedEvent(runFinished), payload: { output: 1 } };
  assert.deepEqual(timelineLines(broken), []);
  assert.equal(payloadOf(broken, runFinished), null);
});

test("a line starts with the time since the start, never a negative one", () => {
  const line = { mark: "▸", label: "queued", text: "x", style: "dim" as const };
  assert.equal(timelineText(line, 1_234, plain), "   1.23s  ▸ queued    x");
  assert.equal(timelineText(line, -5, plain), "   0.00s  ▸ queued    x");
});

test("a line that is wider than the terminal continues below its text, and no word is broken", () => {
  const text = "for an approval of write_file, at most until tomorrow";
  const line = { mark: "…", label: "waiting", text, style: "yellow" as const };
  const lines = timelineText(line, 0, plain, 60).split("\n");
  assert.deepEqual(
    lines.map((shown) => shown.slice(0, 22).trim() === "" || shown === lines[0]),
    lines.map(() => true),
  );
  assert.ok(lines.length > 1 && lines.every(({ length }) => length <= 60));
  assert.equal(lines.map((shown) => shown.slice(22)).join(" "), text);
});

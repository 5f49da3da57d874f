import assert from "node:assert/strict";
import { test } from "node:test";
import type { RunDetail } from "@switchyard/contracts/agent-runner/runs";
import { factsOf } from "./run-facts.ts";

const at = "2026-01-01T00:00:00.000Z";
const run: RunDetail = {
  runId: "r1",
  agent: "demo",
  requester: "cli",
  model: "scripted/plan",
  status: "waiting",
  steps: 1,
  toolCalls: 1,
  createdAt: at,
  updatedAt: at,
  attempts: 1,
  labels: {},
  input: "x",
  output: null,
  failure: null,
  cancellation: null,
  usage: { inputTokens: 1, outputTokens: 1 },
  agentDigest: `sha256:${"a".repeat(64)}`,
  skills: [],
};

const textsOf = (name: string, shown: RunDetail): string[] =>
  factsOf(shown).flatMap(([known, text]) => (known === name && text !== "" ? [text] : []));

test("shows what a run waits for and to what it belongs", () => {
  const callId = "r1:1:0";
  const linked: RunDetail = {
    ...run,
    waits: [
      { reason: "approval", callId, tool: "mcp__a__b", until: null, approvalId: "apr-1" },
      {
        reason: "limit",
        callId: "r1",
        tool: "",
        until: null,
        limit: { limit: "maxSteps", value: 2 },
      },
    ],
    session: { sessionId: "ses-00000000000000000000000000-a", key: "talk" },
    parent: { runId: "boss", callId: "boss:1:0" },
    children: [
      { runId: "sub-1", callId, agent: "helper", status: null },
      { runId: "sub-2", callId, agent: "helper", status: "failed" },
    ],
    forkedFrom: { runId: "r0", fromStep: 3 },
  };
  assert.deepEqual(textsOf("waits for", linked), [
    "an approval of mcp__a__b (apr-1)",
    "a higher limit than maxSteps 2; raise it with: ./yard runs resume",
  ]);
  assert.deepEqual(textsOf("session", linked), ["talk  ses-00000000000000000000000000-a"]);
  assert.deepEqual(textsOf("works for", linked), ["run boss"]);
  assert.deepEqual(textsOf("child", linked), [
    "sub-1 of helper, not ended",
    "sub-2 of helper, failed",
  ]);
  assert.deepEqual(textsOf("copy of", linked), ["run r0, from step 3"]);
});

test("a run that stands by itself has no line about others", () => {
  for (const name of ["waits for", "session", "works for", "child", "copy of"])
    assert.deepEqual(textsOf(name, run), []);
});

test("shows how many of the tokens were not counted", () => {
  assert.deepEqual(textsOf("tokens", run), ["1 in, 1 out"]);
  const usage = { inputTokens: 90, outputTokens: 20, estimatedTokens: 37 };
  assert.deepEqual(textsOf("tokens", { ...run, usage }), [
    "90 in, 20 out; about 37 of them in answers that broke off",
  ]);
});

test("says of which servers a run was not given the tools", () => {
  const toolsUnavailable = [{ server: "files", reason: "it does not start" }];
  assert.deepEqual(textsOf("tools missing", { ...run, toolsUnavailable }), [
    "those of server files are not available: it does not start",
  ]);
  assert.deepEqual(textsOf("tools missing", run), []);
});

test("shows how many tokens of the input the provider had in its cache", () => {
  const usage = { inputTokens: 1_000, outputTokens: 20 };
  assert.deepEqual(textsOf("tokens", { ...run, usage }), ["1000 in, 20 out"]);
  assert.deepEqual(textsOf("tokens", { ...run, usage: { ...usage, cacheReadTokens: 970 } }), [
    "1000 in (970 from the cache), 20 out",
  ]);
});

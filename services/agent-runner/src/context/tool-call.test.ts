import assert from "node:assert/strict";
import { noFiles } from "../../test-fixtures/no-files.ts";
import { test } from "node:test";
import { failuresOf, ServiceError } from "@switchyard/contracts/errors";
import { callTool } from "@switchyard/contracts/mcp-broker/mcp";
import { startedEntry } from "../../test-fixtures/journals.ts";
import { startOf } from "../core/replay.ts";
import type { ServiceClients } from "./service-clients.ts";
import { Suspended } from "../core/interruption.ts";
import { type CallContext, type ServerCall, callServerTool } from "./tool-call.ts";

const fail = failuresOf(callTool.errors);
const decision = {
  effect: "allow",
  rule: "r",
  reason: "test",
  policyDigest: `sha256:${"a".repeat(64)}`,
} as const;
const done = {
  text: "done",
  content: [],
  isError: false,
  decision,
  durationMs: 1,
  replayed: false,
};
const known = { server: "lab", lastError: null };
const isDown = fail.server_down("lab is down", { ...known, status: "error" });
const isReturning = fail.server_down("lab is down", {
  ...known,
  status: "disconnected",
  isReturning: true,
});
const timedOut = new ServiceError("timeout", "nobody works on it any more");

const call: ServerCall = {
  callId: "run-1:1:0",
  server: "lab",
  tool: "mcp__lab__write",
  args: {},
  isListed: true,
  onUnknownOutcome: "fail",
  mayHaveRun: false,
};

/** Returns a caller whose provider replies with these results one after the other. */
function asking(...answers: readonly (ServiceError | typeof done)[]) {
  const asked: (string | undefined)[] = [];
  const services: Pick<ServiceClients, "callTool"> = {
    async callTool(request) {
      const answer = answers[Math.min(asked.length, answers.length - 1)];
      asked.push(request.callId);
      if (answer === undefined || answer instanceof ServiceError) throw answer;
      return answer;
    },
  };
  const at = new Date().toISOString();
  const caller: CallContext = {
    bus: { status: "connected" },
    files: noFiles,
    clients: services as ServiceClients, // a call of a server uses no other service
    tokens: {
      get: async () => "token",
      refuse: () => undefined,
    } as unknown as CallContext["tokens"], // as above
    run: { state: startOf(startedEntry({ at })), hold: { runId: "run-1", epoch: "1" } },
    signal: new AbortController().signal,
    now: Date.now,
  };
  return { caller, asked };
}

/** The same run, with a time limit that ends its calls at `atMs`. */
function endingAt(atMs: number, caller: CallContext): CallContext {
  const beyondLimitMs = 5_000;
  const { timeoutMs } = startedEntry().limits;
  const at = new Date(atMs - beyondLimitMs - timeoutMs).toISOString();
  return { ...caller, run: { ...caller.run, state: startOf(startedEntry({ at })) } };
}

test("after an attempt without an answer the outcome is unknown, whatever a later attempt reports about itself", async () => {
  const refusals = [
    isDown,
    fail.denied("no", { ...decision, effect: "deny" }),
    fail.unknown_tool("no such tool", { server: "lab", tool: "write" }),
    fail.invalid_arguments("other arguments", { problems: [] }),
  ];
  for (const refusal of refusals) {
    const { caller, asked } = asking(timedOut, refusal);
    const step = await callServerTool(call, caller);
    assert.ok(step.kind === "tool-failed", step.kind);
    assert.equal(step.code, "outcome_unknown");
    assert.ok(step.message.includes(refusal.code), step.message);
    assert.deepEqual(asked, [call.callId, call.callId]);
  }
});

test("after an attempt without an answer the provider's record of the call decides", async () => {
  const replayed = await callServerTool(call, asking(timedOut, done).caller);
  assert.equal(replayed.kind === "tool-completed" && replayed.text, "done");
  const failure = fail.tool_failed("no such table", { reason: "no such table" });
  const failed = await callServerTool(call, asking(timedOut, failure).caller);
  assert.equal(failed.kind === "tool-failed" && failed.code, "tool_failed");
});

test("an attempt of an earlier hold of the run counts as one without an answer", async () => {
  const { caller } = asking(isDown);
  const fresh = await callServerTool(call, caller);
  assert.equal(fresh.kind === "tool-failed" && fresh.code, "server_down");
  const taken = await callServerTool({ ...call, mayHaveRun: true }, caller);
  assert.equal(taken.kind === "tool-failed" && taken.code, "outcome_unknown");
});

test("a call that may have been made is made again, or a person is prompted, where the agent wants that", async () => {
  const again = asking(timedOut, isDown, done);
  const retried = await callServerTool({ ...call, onUnknownOutcome: "retry" }, again.caller);
  assert.equal(retried.kind === "tool-completed" && retried.callId, call.callId);
  assert.deepEqual(again.asked, [call.callId, call.callId, `${call.callId}:again`]);
  const { caller } = asking(timedOut, isDown);
  const parked = await callServerTool({ ...call, onUnknownOutcome: "ask" }, caller);
  assert.equal(parked.kind === "tool-parked" && parked.wait.reason, "question");
});

test("a call waits for a server that is reconnecting, and not for one that is dead [A21]", async () => {
  const returning = asking(isReturning, isReturning, isReturning, done);
  const step = await callServerTool(call, returning.caller);
  assert.equal(step.kind, "tool-completed");
  const dead = asking(isReturning, isDown);
  const failed = await callServerTool(call, dead.caller);
  assert.equal(failed.kind === "tool-failed" && failed.code, "server_down");
  assert.equal(dead.asked.length, 2);
});

test("a server that does not return within the time of the call fails the call with its own error", async () => {
  const { caller } = asking(isReturning);
  const step = await callServerTool(call, endingAt(Date.now() + 1_000, caller));
  assert.equal(step.kind === "tool-failed" && step.code, "server_down");
});

test("an outage of the policy or of the store of calls suspends the run, a fault of theirs does not", async () => {
  const soon = Date.now() + 500;
  for (const outage of [
    fail.policy_unavailable("away", { cause: "timeout" }),
    fail.policy_unavailable("away", { cause: "audit_unavailable: the stream is full" }),
    fail.policy_unavailable("away", { cause: "approvals_unavailable: Redis did not answer" }),
    fail.call_store_unavailable("away", { cause: "Redis did not answer" }),
  ]) {
    const { caller } = asking(outage);
    await assert.rejects(callServerTool(call, endingAt(soon, caller)), Suspended);
  }
  const { caller } = asking(fail.policy_unavailable("a bug", { cause: "internal" }));
  const step = await callServerTool(call, endingAt(soon, caller));
  assert.equal(step.kind === "tool-failed" && step.code, "policy_unavailable");
});

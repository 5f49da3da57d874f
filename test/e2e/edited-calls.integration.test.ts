import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { client } from "@switchyard/bus/call";
import { canonicalDigest } from "@switchyard/contracts/canonical-json";
import { failuresOf, isError, ServiceError } from "@switchyard/contracts/errors";
import { callTool } from "@switchyard/contracts/mcp-broker/mcp";
import { approveCall, getApproval } from "@switchyard/contracts/policy/approvals";
import { mcpToolRef } from "@switchyard/contracts/tool-names";
import { until } from "@switchyard/local-servers/until";
import { testDirectory } from "@switchyard/testing/test-servers";
import { createApprovalGate } from "@switchyard/tool-provider/approval-gate";
import { NotSentError } from "@switchyard/tool-provider/call-once";
import type { CallOutcome } from "@switchyard/tool-provider/call-store";
import { createCallsInWork } from "@switchyard/tool-provider/calls-in-work";
import { executeCall } from "@switchyard/tool-provider/execute-call";
import { createExecutionAudit } from "@switchyard/tool-provider/execution-audit";
import { createPolicyGate, type Requester } from "@switchyard/tool-provider/policy-gate";
import { yard, yardEnvironment } from "../../apps/cli/test-fixtures/yard-process.ts";
import { holdingRunner } from "../../services/policy/test/holding-runner.ts";
import { startPolicyWorld } from "../../services/policy/test/policy-world.ts";

const RULES = `version: 1
rules:
  - id: pays
    effect: allow
    approval: session
    what: { tools: [bank.pay] }
  - id: no-fortune
    effect: deny
    what: { tools: [bank.pay] }
    when: [{ arg: /amount, op: gt, value: 100 }]
  - id: large
    effect: allow
    what: { tools: [bank.pay] }
    when: [{ arg: /amount, op: gt, value: 50 }]
    approve: { count: 2 }
budgets:
  - { id: one-at-a-time, for: { agents: [demo] }, per: run, concurrency: 1 }
`;
const PAY = mcpToolRef("bank", "pay");

const world = await startPolicyWorld({ rules: RULES, teams: ["team-a"] });
await world.startReplica();
const runner = await holdingRunner(await world.connectAs("runner"), world.redis.url);
const bus = await world.connectAs("broker");
const person = client(await world.connectAs("cli"), { approveCall, getApproval });
const directory = await testDirectory();
const env = {
  ...yardEnvironment(directory),
  YARD_NATS_URL: world.natsUrl,
  YARD_NATS_NKEY_FILE: await world.keyFileOf("cli"),
};
const grant = { agent: "demo", requester: "team-a", tools: [], ttlSeconds: 600 };
const { token } = await runner.grantRun({ runId: "run-1", ...grant }, { timeoutMs: 30_000 });

const gate = createPolicyGate(bus, {
  cache: null,
  rolesOf: () => null,
  onChecked: () => undefined,
});
const approvals = createApprovalGate(bus, { onNotSettled: (error) => assert.fail(String(error)) });
const calls = createCallsInWork(bus);
after(() => calls.stop());
/** No rule of this policy inspects anything. */
const masks = { mask: async () => [], values: async () => new Map<string, string>() };

/** The schema of the tool requires a recipient. */
const misfit = failuresOf(callTool.errors).invalid_arguments("it has no recipient", {
  problems: [{ pointer: "/to", expected: "string" }],
});

let lastCall = 0;
/** A call as a provider makes it, with the arguments that reached the tool. */
function provider(args: Record<string, unknown>) {
  lastCall += 1;
  const callId = `call-${lastCall}`;
  const sent: unknown[] = [];
  const attempt = async (): Promise<CallOutcome> => {
    const requester: Requester = {
      onBehalfOf: "runner",
      token,
      deadline: Date.now() + 30_000,
      signal: new AbortController().signal,
      correlationId: callId,
      traceparent: `00-${"1".repeat(32)}-${"2".repeat(16)}-01`,
    };
    const call = calls.begin({ requester, callId, server: "bank" });
    try {
      const decided = await gate.check({ ref: PAY, args }, call.requester);
      assert.equal(decided.decision.effect, "ask");
      call.begin(decided.principal, PAY);
      const about = { call, ref: PAY, pin: undefined, args, callId, approvalId: undefined };
      return await executeCall(
        { approvals, executions: createExecutionAudit(null), masks },
        { ...about, decided },
        {
          checkBeforeApproval({ to }) {
            if (typeof to !== "string") throw new NotSentError(misfit);
          },
          decideAgain: async (changed) => ({
            args: changed,
            decided: await gate.check({ ref: PAY, args: changed }, call.requester),
          }),
          send: async (given) => {
            sent.push(given);
            const content = [{ type: "text", text: "paid" }];
            return {
              kind: "result",
              result: { content, text: "paid", isError: false, durationMs: 1 },
            };
          },
        },
      );
    } catch (error) {
      throw error instanceof NotSentError && error.cause instanceof ServiceError
        ? error.cause
        : error;
    } finally {
      call.end();
      await call.releaseReserved(); // the next attempt needs the slot
    }
  };
  const waiting = async (): Promise<string> => {
    const error = await attempt().then(
      () => assert.fail("it was made"),
      (reason: unknown) => reason,
    );
    assert.ok(isError(error, callTool, "approval_required"), String(error));
    return error.data.approvalId;
  };
  return { attempt, waiting, sent };
}

async function fileWith(args: unknown): Promise<string> {
  const file = join(directory, "changed.json");
  await writeFile(file, JSON.stringify(args));
  return file;
}

test("an approver changes the arguments, and the call is made with these, once, and its result states the change [A21]", async () => {
  const asked = { amount: 10, to: "ann" };
  const changed = { amount: 5, to: "ann" };
  const call = provider(asked);
  const id = await call.waiting();
  const done = await yard(
    ["approvals", "approve", id, "--arguments", await fileWith(changed)],
    env,
  );
  assert.equal(done.code, 0, done.stderr);
  const outcome = await call.attempt();
  assert.deepEqual(call.sent, [changed]);
  assert.ok(outcome.kind === "result");
  assert.match(outcome.result.text, /^\[cli changed the arguments .*"amount":5.*\]\npaid$/s);
  assert.equal(outcome.result.content.length, 2);
  await assert.rejects(call.attempt(), (error) => isError(error, callTool, "denied"));
  assert.equal(call.sent.length, 1, "the approval was good for one call");

  const { approval, edited } = await person.getApproval({ id });
  assert.equal(approval.state, "consumed");
  assert.equal(approval.execution, "executed");
  assert.equal(approval.argsDigest, canonicalDigest(asked));
  assert.equal(approval.edit?.argsDigest, canonicalDigest(changed));
  assert.equal(approval.edit.by, "cli");
  assert.notEqual(approval.edit.binding, approval.binding);
  assert.deepEqual(JSON.parse(edited?.args ?? ""), changed);
  const shown = await yard(["approvals", "show", id], env);
  assert.match(shown.stdout, /changed by cli to[^]*"amount": 5/);
});

test("an approver cannot get past the rules by changing the arguments", async () => {
  const call = provider({ amount: 20, to: "ben" });
  const id = await call.waiting();
  const denied = await yard(
    ["approvals", "approve", id, "--arguments", await fileWith({ amount: 1_000, to: "ben" })],
    env,
  );
  assert.equal(denied.code, 4, denied.stderr);
  assert.match(denied.stderr, /rules deny the changed call/);
  await assert.rejects(person.approveCall({ id, arguments: { amount: 60, to: "ben" } }), (error) =>
    isError(error, approveCall, "edit_refused"),
  );
  await assert.rejects(
    person.approveCall({ id, scope: "session", arguments: { amount: 1 } }),
    (error) => isError(error, approveCall, "not_editable"),
  );
  assert.equal((await person.getApproval({ id })).approval.state, "pending");
  await person.approveCall({ id, arguments: { amount: 20, to: "ben" } });
  await call.attempt();
  assert.deepEqual(call.sent, [{ amount: 20, to: "ben" }]);
  const { approval } = await person.getApproval({ id });
  assert.equal(approval.edit, undefined, "the same arguments are no change");
});

test("changed arguments that do not fit the tool use up no approval", async () => {
  const call = provider({ amount: 13, to: "dora" });
  const id = await call.waiting();
  await person.approveCall({ id, arguments: { amount: 13 } });
  await assert.rejects(call.attempt(), (error) => isError(error, callTool, "invalid_arguments"));
  assert.deepEqual(call.sent, []);
  const { approval } = await person.getApproval({ id });
  assert.equal(approval.state, "approved");
});

test("the audit has the digests of both arguments, and who changed them", async () => {
  const asked = { amount: 11, to: "carl" };
  const changed = { amount: 12, to: "carl" };
  const call = provider(asked);
  const id = await call.waiting();
  await person.approveCall({ id, arguments: changed });
  await call.attempt();
  const auditor = { ...env, YARD_NATS_NKEY_FILE: await world.keyFileOf("auditor") };
  const records = await until(
    async () => {
      const read = await yard(["audit", "tail", "--once", "--json"], auditor);
      assert.equal(read.code, 0, read.stderr);
      return read.stdout.split("\n").filter((line) => line.includes(id));
    },
    (lines) => lines.some((line) => line.includes('"consumed"')),
  );
  const approved = records.find((line) => line.includes('"change":"approved"')) ?? "";
  assert.ok(approved.includes(`"askedDigest":"${canonicalDigest(asked)}"`), approved);
  assert.ok(approved.includes(`"argsDigest":"${canonicalDigest(changed)}"`), approved);
  assert.ok(approved.includes('"by":"cli"'), approved);
});

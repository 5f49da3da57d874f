import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { client } from "@switchyard/bus/call";
import { canonicalDigest } from "@switchyard/contracts/canonical-json";
import { failuresOf, isError, ServiceError } from "@switchyard/contracts/errors";
import { callTool } from "@switchyard/contracts/mcp-broker/mcp";
import { approveCall, getApproval } from "@switchyard/contracts/policy/approvals";
import { mcpToolRef, type ToolRef } from "@switchyard/contracts/tool-names";
import { until } from "@switchyard/local-servers/until";
import { testDirectory } from "@switchyard/testing/test-servers";
import { readCipherKeyFile } from "@switchyard/service/keys-directory";
import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import { createApprovalGate } from "@switchyard/tool-provider/approval-gate";
import { NotSentError } from "@switchyard/tool-provider/call-once";
import type { CallOutcome } from "@switchyard/tool-provider/call-store";
import { createCallsInWork } from "@switchyard/tool-provider/calls-in-work";
import { executeCall } from "@switchyard/tool-provider/execute-call";
import { createExecutionAudit } from "@switchyard/tool-provider/execution-audit";
import { createMaskStore } from "@switchyard/tool-provider/mask-store";
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
  - id: moves
    effect: allow
    approval: always
    what: { tools: [bank.move] }
    when: [{ window: { sum: /amount, per: user, within: 1h, lte: 5000 } }]
  - { id: mails, effect: allow, approval: always, what: { tools: [bank.mail] }, unmask: [iban] }
  - id: transfers
    effect: allow
    what: { tools: [bank.transfer] }
    unmask: [iban]
    approve: { from: [cli], unmask: [iban] }
  - { id: no-cards, effect: deny, when: [{ finds: [card] }] }
  - id: gifts
    effect: allow
    what: { tools: [bank.give] }
    when: [{ arg: /amount, op: lte, value: 50 }]
    approve: { from: [ann], escalate: { after: 1s, to: [cli] } }
  - id: large-gifts
    effect: allow
    what: { tools: [bank.give] }
    when: [{ arg: /amount, op: gt, value: 50 }]
    approve: { from: [ann], escalate: { after: 4h, to: [cli] } }
  - id: closings
    effect: allow
    what: { tools: [bank.close] }
    when: [{ arg: /amount, op: gt, value: 50 }]
    approve: { edit: false }
  - id: small-closings
    effect: allow
    approval: always
    what: { tools: [bank.close] }
    when: [{ arg: /amount, op: lte, value: 50 }]
results:
  - { id: hide, finds: [iban], effect: mask }
budgets:
  - { id: one-at-a-time, for: { agents: [demo] }, per: run, concurrency: 1 }
`;
const PAY = mcpToolRef("bank", "pay");
const [MOVE, MAIL, TRANSFER, GIVE, CLOSE] = ["move", "mail", "transfer", "give", "close"].map(
  (name) => mcpToolRef("bank", name),
) as [ToolRef, ToolRef, ToolRef, ToolRef, ToolRef];
const IBAN = "DE89370400440532013000";
const OTHER_IBAN = "GB82WEST12345698765432";

const world = await startPolicyWorld({ rules: RULES, teams: ["team-a", "ann"] });
await writeFile(join(world.keys, "masks.key"), randomBytes(32).toString("base64url"), {
  mode: 0o600,
});
await world.startReplica({ YARD_APPROVERS: "cli" });
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
const redis = await connectRedis({
  url: world.redis.url,
  name: "test",
  log: createLog({ service: "test", level: "fatal" }),
});
after(() => redis.disconnect());
const masks = createMaskStore({
  redis,
  keys: await readCipherKeyFile(world.keys, "masks.key"),
  onLost: (error) => assert.fail(String(error)),
});
const [iban = "", otherIban = ""] = await masks.mask({ runId: "run-1", user: "team-a" }, [
  { kind: "iban", value: IBAN },
  { kind: "iban", value: OTHER_IBAN },
]);

/** The schema of the tool requires a recipient. */
const misfit = failuresOf(callTool.errors).invalid_arguments("it has no recipient", {
  problems: [{ pointer: "/to", expected: "string" }],
});

let lastCall = 0;
/** A call as a provider makes it, with the arguments that reached the tool. */
function provider(args: Record<string, unknown>, ref = PAY) {
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
      const decided = await gate.check({ ref, args }, call.requester);
      assert.equal(decided.decision.effect, "ask");
      call.begin(decided.principal, ref);
      const about = { call, ref, pin: undefined, args, callId, approvalId: undefined };
      return await executeCall(
        { approvals, executions: createExecutionAudit(null), masks },
        { ...about, decided },
        {
          checkBeforeApproval({ to }) {
            if (typeof to !== "string") throw new NotSentError(misfit);
          },
          decideAgain: async (changed) => ({
            args: changed,
            decided: await gate.check({ ref, args: changed }, call.requester),
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
    } catch (caught) {
      const error = call.failureOf(caught);
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

test("a rule with edit: false lets no approver change the arguments of its calls, nor change those of another call to its own", async () => {
  const fixed = provider({ amount: 60, to: "gerda" }, CLOSE);
  const id = await fixed.waiting();
  for (const amount of [61, 10])
    await assert.rejects(
      person.approveCall({ id, arguments: { amount, to: "gerda" } }),
      (error) => isError(error, approveCall, "not_editable") && /rule closings/.test(error.message),
    );
  const { approval } = await person.getApproval({ id });
  assert.deepEqual([approval.state, approval.requirements[0]?.isFixed], ["pending", true]);
  await person.approveCall({ id });
  await fixed.attempt();
  assert.deepEqual(fixed.sent, [{ amount: 60, to: "gerda" }]);
  const small = provider({ amount: 10, to: "gerda" }, CLOSE);
  const other = await small.waiting();
  await assert.rejects(
    person.approveCall({ id: other, arguments: { amount: 60, to: "gerda" } }),
    (error) => isError(error, approveCall, "edit_refused") && /closings/.test(error.message),
  );
  await person.approveCall({ id: other, arguments: { amount: 20, to: "gerda" } });
  await small.attempt();
  assert.deepEqual(small.sent, [{ amount: 20, to: "gerda" }]);
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

const isRefusedEdit = (error: unknown) =>
  isError(error, approveCall, "edit_refused") || isError(error, approveCall, "not_editable");

test("the changed amount counts in windows, the requested one does not, and no edit gets past the limit", async () => {
  const first = provider({ amount: 10, to: "ann" }, MOVE);
  const second = provider({ amount: 20, to: "ann" }, MOVE);
  const third = provider({ amount: 30, to: "ann" }, MOVE);
  const ids = [await first.waiting(), await second.waiting(), await third.waiting()] as const;
  await assert.rejects(
    person.approveCall({ id: ids[0], arguments: { amount: 5_001, to: "ann" } }),
    isRefusedEdit,
  );
  // Each of the changed calls alone is within the limit.
  for (const [at, amount] of [3_000, 1_960, 50].entries())
    await person.approveCall({ id: ids[at] ?? "", arguments: { amount, to: "ann" } });
  await first.attempt();
  await second.attempt();
  await assert.rejects(third.attempt(), (error) => isError(error, callTool, "denied"));
  assert.deepEqual([first.sent.length, second.sent.length, third.sent.length], [1, 1, 0]);
  const { approval } = await person.getApproval({ id: ids[2] });
  assert.equal(approval.state, "approved", "the approval of a call that was not made is not used");
});

test("an approver gets no masked value by changing where it goes", async () => {
  const call = provider({ amount: 1, to: "ben", text: `pay ${iban}` }, MAIL);
  const id = await call.waiting();
  for (const changed of [
    { amount: 1, to: "cli", text: `pay ${iban}` },
    { amount: 1, to: "ben", text: `pay ${otherIban}` },
    { amount: 1, to: "ben", text: `pay ${iban} ${otherIban}` },
  ])
    await assert.rejects(person.approveCall({ id, arguments: changed }), (error) =>
      isError(error, approveCall, "not_editable"),
    );
  assert.equal((await person.getApproval({ id })).approval.state, "pending");
  await person.approveCall({ id, arguments: { amount: 1, to: "cli", text: "no number" } });
  await call.attempt();
  assert.deepEqual(call.sent, [{ amount: 1, to: "cli", text: "no number" }]);
});

test("an approver who is shown a masked value changes the other arguments, and the model sees the mask alone", async () => {
  const call = provider({ amount: 1, to: iban }, TRANSFER);
  const id = await call.waiting();
  const { unmasked } = await person.getApproval({ id });
  assert.deepEqual(unmasked, [{ mask: iban, value: IBAN }]);
  // The value of another mask was not shown.
  await assert.rejects(
    person.approveCall({ id, arguments: { amount: 1, to: otherIban } }),
    (error) => isError(error, approveCall, "not_editable"),
  );
  await person.approveCall({ id, arguments: { amount: 2, to: iban } });
  const made = await call.attempt();
  assert.deepEqual(call.sent, [{ amount: 2, to: IBAN }]);
  assert.ok(!JSON.stringify(made).includes(IBAN));
  const typed = provider({ amount: 3, to: iban }, TRANSFER);
  await person.approveCall({ id: await typed.waiting(), arguments: { amount: 4, to: IBAN } });
  const outcome = await typed.attempt();
  assert.deepEqual(typed.sent, [{ amount: 4, to: IBAN }]);
  assert.ok(outcome.kind === "result");
  assert.ok(outcome.result.text.includes(iban), outcome.result.text);
  assert.ok(!JSON.stringify(outcome).includes(IBAN), "the note to the model is inspected, too");
});

test("changed arguments are inspected, and people of an earlier escalation do not count for a later one", async () => {
  const call = provider({ amount: 14, to: "emil" });
  const id = await call.waiting();
  await assert.rejects(
    person.approveCall({ id, arguments: { amount: 14, to: "4111 1111 1111 1111" } }),
    isRefusedEdit,
  );
  await person.approveCall({ id });
  await call.attempt();
  const gift = provider({ amount: 5, to: "emil" }, GIVE);
  const given = await gift.waiting();
  await until(() =>
    person.approveCall({ id: given, arguments: { amount: 60, to: "emil" } }).then(
      () => assert.fail("cli counts for large gifts after four hours alone"),
      (error: unknown) => isRefusedEdit(error) && error,
    ),
  );
  await person.approveCall({ id: given, arguments: { amount: 6, to: "emil" } });
  await gift.attempt();
  assert.deepEqual(gift.sent, [{ amount: 6, to: "emil" }]);
});

test("a grant of a session covers no changed call, and a change gives none", async () => {
  const granted = provider({ amount: 21, to: "fritz" });
  await person.approveCall({ id: await granted.waiting(), scope: "session", maxUses: 1 });
  await granted.attempt();
  const covered = provider({ amount: 22, to: "fritz" });
  await covered.attempt();
  const call = provider({ amount: 23, to: "fritz" });
  const id = await call.waiting();
  await person.approveCall({ id, arguments: { amount: 24, to: "fritz" } });
  await call.attempt();
  assert.deepEqual(call.sent, [{ amount: 24, to: "fritz" }]);
  const again = provider({ amount: 24, to: "fritz" });
  await again.waiting();
  assert.deepEqual(again.sent, []);
});
